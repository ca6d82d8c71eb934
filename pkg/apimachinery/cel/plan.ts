/**
 * Compiles a checked expression into nested functions, one for each part. Each step charges the cost of 1.24. Source:
 * github.com/google/cel-go v0.10, interpreter/{planner,interpretable,decorators}.go.
 */
import { accumulator, type Call, type Expr, type Fold, operators } from '#apimachinery/cel/ast.js';
import { Attribute, Conditional, type Evaluate, selected } from '#apimachinery/cel/attribute.js';
import type { CheckedExpression } from '#apimachinery/cel/checker.js';
import { converted } from '#apimachinery/cel/conversions.js';
import { implementationOf } from '#apimachinery/cel/library.js';
import { callCost, type Run } from '#apimachinery/cel/run.js';
import { costs } from '#apimachinery/cel/size-range.js';
import {
  CelFailure,
  CelList,
  CelMap,
  equal,
  noSuchOverload,
  PlainList,
  PlainMap,
  TypeName,
  Uint,
  type Value,
} from '#apimachinery/cel/values.js';
import { patternError } from '#apimachinery/patterns/pattern.js';

/** `variables`: the order of the environment's variables in a run. Throws a PlanError. */
export function plan(checked: CheckedExpression, variables: readonly string[]): Evaluate {
  return new Planner(checked, variables).plan(checked.expr).evaluate;
}

/** An expression that always fails. */
export class PlanError extends Error {
  override readonly name = 'PlanError';
}

interface Planned {
  /** Evaluates the part and charges its cost. */
  readonly evaluate: Evaluate;
  /** The chain that a selection continues; undefined: a selection starts a new one. */
  readonly attribute?: Attribute | Conditional;
  /** The value if it is constant. */
  readonly value?: Value;
}

class Planner {
  readonly #checked: CheckedExpression;
  /** Names of all variables in scope, by their index in a run. */
  readonly #scope: string[];

  constructor(checked: CheckedExpression, variables: readonly string[]) {
    this.#checked = checked;
    this.#scope = [...variables];
  }

  plan(expr: Expr): Planned {
    const named = this.#checked.named.get(expr);
    if (named !== undefined) return constant(new TypeName(named));
    switch (expr.kind) {
      case 'const':
        return constant(expr.value);
      case 'ident':
        return this.#variable(expr.name);
      case 'select': {
        const operand = this.plan(expr.operand);
        if (expr.test) return has(operand, expr.field);
        return qualified(operand, (run, of) => run.observe(selected(of, expr.field), 1));
      }
      case 'call':
        return this.#call(expr);
      case 'list':
        return list(expr.elements.map((element) => this.plan(element)));
      case 'map':
        return map(
          expr.entries.map(({ key }) => this.plan(key)),
          expr.entries.map(({ value }) => this.plan(value)),
        );
      case 'fold':
        return this.#fold(expr);
      case 'message':
        throw new PlanError(`unknown type: ${expr.name}`);
    }
  }

  #variable(name: string): Planned {
    const plain = name.startsWith('.') ? name.slice(1) : name;
    const slot = this.#scope.lastIndexOf(plain);
    return attributed(new Attribute((run) => run.variables[slot] ?? null));
  }

  #call(expr: Call): Planned {
    const parts = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    const args = parts.map((part) => this.plan(part));
    const overloads = this.#checked.overloads.get(expr) ?? [];
    const overload = overloads.length === 1 ? (overloads[0] ?? '') : '';
    const [first, second, third] = args;
    const fn = expr.fn.startsWith('.') ? expr.fn.slice(1) : expr.fn;
    if (first === undefined) throw new PlanError(`no such overload: ${fn}()`);
    if (second === undefined) return unary(fn, overload, first);
    switch (fn) {
      case operators.and:
        return logical(first, second, false);
      case operators.or:
        return logical(first, second, true);
      case operators.conditional:
        return conditional(first, second, third ?? second);
      case operators.index:
        return indexed(first, second);
      case operators.equals:
      case operators.notEquals:
        return equality(fn, first, second);
      case operators.in:
        if (overload === 'in_list' && second.value instanceof CelList) {
          const membership = memberOf(first, second.value);
          if (membership !== undefined) return membership;
        }
        break;
      default:
        break;
    }
    return called(fn, overload, args, checkPattern(fn, second));
  }

  #fold({ range, init, condition, step, result, variable }: Fold): Planned {
    const over = this.plan(range).evaluate;
    const begin = this.plan(init).evaluate;
    const accu = this.#scope.push(accumulator) - 1;
    const result1 = this.plan(result).evaluate;
    const each = this.#scope.push(variable) - 1;
    const goesOn = this.plan(condition).evaluate;
    const next = this.plan(step).evaluate;
    this.#scope.length = accu;
    return {
      evaluate: (run) => {
        const values = elementsOf(over(run));
        const { variables } = run;
        const first = begin(run);
        // A list that starts empty is appended to in place.
        variables[accu] = first instanceof CelList && first.size === 0 ? new GrowingList() : first;
        if (values instanceof CelFailure) return run.observe(values, 0);
        for (let i = 0; i < values.size; i++) {
          variables[each] = values.at(i);
          const more = goesOn(run);
          if (more === false) break;
          variables[accu] = next(run);
        }
        const value = result1(run);
        variables.length = accu;
        return run.observe(value instanceof GrowingList ? value.done() : value, 0);
      },
    };
  }
}

/** A list that `+` appends to. */
class GrowingList extends CelList {
  readonly #values: Value[] = [];

  get size(): number {
    return this.#values.length;
  }

  at(i: number): Value {
    return this.#values[i] ?? null;
  }

  override add(other: Value): Value {
    if (!(other instanceof CelList)) return noSuchOverload();
    for (let i = 0; i < other.size; i++) this.#values.push(other.at(i));
    return this;
  }

  done(): PlainList {
    return new PlainList(this.#values);
  }
}

function elementsOf(range: Value): CelList | CelFailure {
  if (range instanceof CelList || range instanceof CelFailure) return range;
  if (range instanceof CelMap) return new PlainList(range.keys());
  return new CelFailure('got something else, expected iterable type');
}

function constant(value: Value): Planned {
  return { evaluate: (run) => run.observe(value, 0), value };
}

function attributed(attribute: Attribute | Conditional): Planned {
  const cost = attribute instanceof Attribute ? costs.select : 0;
  return { evaluate: (run) => run.observe(attribute.resolve(run), cost), attribute };
}

/** The chain that selections are added to. */
function chainOf({ attribute, evaluate }: Planned): Attribute | Conditional {
  return attribute ?? new Attribute(evaluate);
}

function qualified(operand: Planned, qualifier: (run: Run, of: Value) => Value): Planned {
  const chain = chainOf(operand);
  chain.add(qualifier);
  return attributed(chain);
}

function has({ evaluate }: Planned, field: string): Planned {
  return {
    evaluate: (run) => {
      const of = evaluate(run);
      return run.observe(isThere(of, field), 0);
    },
  };
}

function isThere(of: Value, field: string): Value {
  if (of instanceof CelFailure) return of;
  if (!(of instanceof CelMap)) return new CelFailure('invalid type for field selection.');
  const member = of.find(field);
  return member instanceof CelFailure ? member : member !== undefined;
}

function indexed(of: Planned, index: Planned): Planned {
  const { value, attribute } = index;
  if (value !== undefined) return qualified(of, (run, from) => run.observe(selected(from, value), 1));
  if (attribute !== undefined) {
    return qualified(of, (run, from) => {
      const value = selected(from, attribute.resolve(run));
      run.pop(1);
      return run.observe(value, 1);
    });
  }
  return qualified(of, (run, from) => run.observe(selected(from, index.evaluate(run)), 1));
}

function conditional(condition: Planned, yes: Planned, no: Planned): Planned {
  return attributed(new Conditional(condition.evaluate, chainOf(yes), chainOf(no)));
}

/** `decisive`: the value of one side that makes the other irrelevant. */
function logical(left: Planned, right: Planned, decisive: boolean): Planned {
  return {
    evaluate: (run) => {
      const a = left.evaluate(run);
      if (a === decisive) return run.observe(decisive, 0);
      const b = right.evaluate(run);
      if (b === decisive) return run.observe(decisive, 0);
      if (typeof a === 'boolean' && typeof b === 'boolean') return run.observe(!decisive, 0);
      if (a instanceof CelFailure) return run.observe(a, 0);
      return run.observe(b instanceof CelFailure ? b : noSuchOverload(), 0);
    },
  };
}

function equality(fn: string, left: Planned, right: Planned): Planned {
  const equalResult = fn === operators.equals;
  const overload = equalResult ? 'equals' : 'not_equals';
  return {
    evaluate: (run) => {
      const a = left.evaluate(run);
      const b = right.evaluate(run);
      const failure = failureOf(a) ?? failureOf(b);
      const same = failure ?? equal(a, b, run);
      const result = failure ?? (equalResult ? same : same !== true);
      return run.observe(result, callCost(fn, overload, 2, result, run));
    },
  };
}

function failureOf(value: Value): CelFailure | undefined {
  return value instanceof CelFailure ? value : undefined;
}

const typeFunctions = new Set([
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'timestamp',
  'duration',
  'type',
  'dyn',
]);

function unary(fn: string, overload: string, arg: Planned): Planned {
  if (typeFunctions.has(fn) && arg.value !== undefined) {
    const value = converted(fn, arg.value) ?? noSuchOverload();
    if (value instanceof CelFailure) throw new PlanError(value.message);
    return constant(value);
  }
  if (fn !== operators.notStrictlyFalse) return called(fn, overload, [arg]);
  return {
    evaluate: (run) => {
      const value = arg.evaluate(run);
      run.pop(1);
      return run.observe(typeof value === 'boolean' || value instanceof CelFailure ? value : true, 1);
    },
  };
}

/** `lazy`: stops evaluating arguments at the first failure, as for all calls with more than two. */
function called(fn: string, overload: string, args: readonly Planned[], lazy = false): Planned {
  const implementation = implementationOf(fn);
  const evaluates = args.map(({ evaluate }) => evaluate);
  const eager = evaluates.length <= 2 && !lazy;
  return {
    evaluate: (run) => {
      const values: Value[] = [];
      let failure: CelFailure | undefined;
      for (const evaluate of evaluates) {
        const value = evaluate(run);
        values.push(value);
        if (value instanceof CelFailure) failure ??= value;
        if (failure !== undefined && !eager) break;
      }
      const result = failure ?? implementation(values, run, overload);
      return run.observe(result, callCost(fn, overload, evaluates.length, result, run));
    },
  };
}

/** Validates a literal pattern at compile time. True if there is one. */
function checkPattern(fn: string, pattern: Planned): boolean {
  if (!['matches', 'find', 'findAll'].includes(fn) || typeof pattern.value !== 'string') return false;
  const wrong = patternError(pattern.value);
  if (wrong !== undefined) throw new PlanError(wrong);
  return true;
}

function list(elements: readonly Planned[]): Planned {
  const values = elements.map(({ value }) => value);
  if (values.every((value) => value !== undefined)) return constant(new PlainList(values));
  const evaluates = elements.map(({ evaluate }) => evaluate);
  return {
    evaluate: (run) => {
      const elements: Value[] = [];
      for (const evaluate of evaluates) {
        const value = evaluate(run);
        if (value instanceof CelFailure) return run.observe(value, costs.list);
        elements.push(value);
      }
      return run.observe(new PlainList(elements), costs.list);
    },
  };
}

function map(keys: readonly Planned[], values: readonly Planned[]): Planned {
  const entries = keys.map(({ value }, i) => [value, values[i]?.value] as const);
  if (entries.every((entry): entry is readonly [Value, Value] => entry[0] !== undefined && entry[1] !== undefined)) {
    return constant(new PlainMap(entries));
  }
  return {
    evaluate: (run) => {
      const entries: (readonly [Value, Value])[] = [];
      for (const [i, { evaluate }] of keys.entries()) {
        const key = evaluate(run);
        if (key instanceof CelFailure) return run.observe(key, costs.map);
        const value = values[i]?.evaluate(run) ?? null;
        if (value instanceof CelFailure) return run.observe(value, costs.map);
        entries.push([key, value]);
      }
      return run.observe(new PlainMap(entries), costs.map);
    },
  };
}

/** `value in [1, 2, 3]`. Undefined if the list has elements that are not plain values. */
function memberOf({ evaluate }: Planned, members: CelList): Planned | undefined {
  if (members.size === 0) return constant(false);
  const memberKeys = new Set<unknown>();
  for (let i = 0; i < members.size; i++) {
    const member = plainOf(members.at(i));
    if (member === undefined) return undefined;
    memberKeys.add(member);
  }
  return {
    evaluate: (run) => {
      const member = plainOf(evaluate(run));
      return run.observe(member !== undefined && memberKeys.has(member), 0);
    },
  };
}

/** A key that equal values share. Undefined for lists, maps and the like. */
function plainOf(value: Value): unknown {
  if (value instanceof Uint) return value.value;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  return typeof value === 'object' ? undefined : value;
}
