/** Macro expansion. Source: github.com/google/cel-go v0.10, parser/macro.go. */
import { accumulated, call, constant, type Expr, operators } from '#apimachinery/cel/ast.js';
import { CelError } from '#apimachinery/cel/tokens.js';

/** The expanded macro, or the call itself. `offset` is that of its opening parenthesis. */
export function expandMacro(name: string, target: Expr | undefined, args: readonly Expr[], offset: number): Expr {
  const [first, second, third] = args;
  if (target === undefined) {
    return name === 'has' && first !== undefined && args.length === 1 ? has(first, offset) : call(name, args, offset);
  }
  if (first === undefined || second === undefined) return call(name, args, offset, target);
  const over = { range: target, variable: first, offset };
  if (args.length === 2) {
    switch (name) {
      case 'all':
        return all(over, second);
      case 'exists':
        return exists(over, second);
      case 'exists_one':
        return existsOne(over, second);
      case 'map':
        return mapExpression(over, undefined, second);
      case 'filter':
        return mapExpression(over, second, first);
      default:
        break;
    }
  }
  if (name === 'map' && args.length === 3 && third !== undefined) return mapExpression(over, second, third);
  return call(name, args, offset, target);
}

interface Over {
  readonly range: Expr;
  readonly variable: Expr;
  readonly offset: number;
}

function has(of: Expr, offset: number): Expr {
  if (of.kind !== 'select') throw new CelError('invalid argument to has() macro', offset);
  return { ...of, test: true, offset };
}

function all(over: Over, predicate: Expr): Expr {
  const accu = accumulated(over.offset);
  return fold(over, {
    init: constant(true, over.offset),
    condition: call(operators.notStrictlyFalse, [accu], over.offset),
    step: call(operators.and, [accu, predicate], over.offset),
    result: accu,
  });
}

function exists(over: Over, predicate: Expr): Expr {
  const accu = accumulated(over.offset);
  return fold(over, {
    init: constant(false, over.offset),
    condition: call(operators.notStrictlyFalse, [call(operators.not, [accu], over.offset)], over.offset),
    step: call(operators.or, [accu, predicate], over.offset),
    result: accu,
  });
}

function existsOne(over: Over, predicate: Expr): Expr {
  const accu = accumulated(over.offset);
  const one = constant(1n, over.offset);
  return fold(over, {
    init: constant(0n, over.offset),
    condition: constant(true, over.offset),
    step: call(operators.conditional, [predicate, call(operators.add, [accu, one], over.offset), accu], over.offset),
    result: call(operators.equals, [accu, one], over.offset),
  });
}

/** Collects a value for each element that passes the filter. */
function mapExpression(over: Over, filter: Expr | undefined, element: Expr): Expr {
  const { offset } = over;
  const accu = accumulated(offset);
  const one: Expr = { kind: 'list', elements: [element], offset, depth: element.depth + 1 };
  const added = call(operators.add, [accu, one], offset);
  if (over.variable.kind !== 'ident') throw new CelError('argument is not an identifier', offset);
  return fold(over, {
    init: { kind: 'list', elements: [], offset, depth: 1 },
    condition: constant(true, offset),
    step: filter === undefined ? added : call(operators.conditional, [filter, added, accu], offset),
    result: accu,
  });
}

interface Parts {
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

function fold({ range, variable, offset }: Over, parts: Parts): Expr {
  if (variable.kind !== 'ident') throw new CelError('argument must be a simple name', variable.offset);
  const depth = 1 + Math.max(range.depth, parts.step.depth, parts.condition.depth, parts.result.depth);
  return { kind: 'fold', variable: variable.name, range, offset, depth, ...parts };
}
