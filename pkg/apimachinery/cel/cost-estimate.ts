/**
 * Estimates the minimum and maximum cost of an expression from the possible sizes of its variables. Sources:
 * github.com/google/cel-go v0.10, checker/cost.go; 1.24, …/pkg/apiserver/schema/cel/library/cost.go. A change would
 * refuse expressions that were accepted.
 */
import { accumulator, type Call, type Expr, type Fold } from '#apimachinery/cel/ast.js';
import type { CheckedExpression } from '#apimachinery/cel/checker.js';
import { costs, exactly, plus, type Range, scaled, times, union, unlimited } from '#apimachinery/cel/size-range.js';
import { type CelType, types } from '#apimachinery/cel/types.js';

/** The maximum size of a value: elements or characters. `path` begins with a variable; undefined if unknown. */
export type SizeOfPath = (path: readonly string[]) => number | undefined;

export function estimateCost(checked: CheckedExpression, sizeOfPath: SizeOfPath): Range {
  return new Estimate(checked, sizeOfPath).cost(checked.expr);
}

type Path = readonly string[];

interface Part {
  readonly type: CelType;
  readonly path: Path | undefined;
  /** Undefined for the element of a list that is not an expression of its own. */
  readonly expr: Expr | undefined;
  readonly size: Range | undefined;
}

interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

const none = exactly(0);
const one = exactly(1);

class Estimate {
  readonly #checked: CheckedExpression;
  readonly #sizeOfPath: SizeOfPath;
  readonly #paths = new Map<Expr, Path>();
  readonly #sizes = new Map<Expr, Range>();
  /** The ranges of the variables of enclosing folds, innermost last. */
  readonly #ranges: (readonly [variable: string, range: Expr])[] = [];

  constructor(checked: CheckedExpression, sizeOfPath: SizeOfPath) {
    this.#checked = checked;
    this.#sizeOfPath = sizeOfPath;
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'const':
      case 'message':
        return none;
      case 'ident':
        this.#paths.set(expr, this.#pathOfName(expr.name));
        return exactly(costs.select);
      case 'select': {
        if (expr.test) return none;
        const named = this.#checked.named.get(expr);
        if (named !== undefined) {
          this.#paths.set(expr, [named]);
          return exactly(costs.select);
        }
        const sum = this.cost(expr.operand);
        const { kind } = this.#typeOf(expr.operand);
        this.#paths.set(expr, [...(this.#paths.get(expr.operand) ?? []), expr.field]);
        return kind === 'map' || kind === 'object' || kind === 'param' ? plus(sum, exactly(costs.select)) : sum;
      }
      case 'call':
        return this.#call(expr);
      case 'list':
        return this.#sum(expr.elements, exactly(costs.list));
      case 'map':
        return this.#sum(
          expr.entries.flatMap(({ key, value }) => [key, value]),
          exactly(costs.map),
        );
      case 'fold':
        return this.#fold(expr);
    }
  }

  #sum(parts: readonly Expr[], base: Range): Range {
    return parts.reduce((sum, part) => plus(sum, this.cost(part)), base);
  }

  #typeOf(expr: Expr): CelType {
    return this.#checked.types.get(expr) ?? types.error;
  }

  #pathOfName(name: string): Path {
    for (let i = this.#ranges.length - 1; i >= 0; i--) {
      const [variable, range] = this.#ranges[i] ?? [];
      if (variable !== name || range === undefined) continue;
      const { kind } = this.#typeOf(range);
      const path = this.#paths.get(range) ?? [];
      if (kind === 'list') return [...path, '@items'];
      return kind === 'map' ? [...path, '@keys'] : [];
    }
    return [name];
  }

  #part(expr: Expr): Part {
    const path = this.#paths.get(expr);
    const knownPath = path !== undefined && path.length > 0 && path[0] !== accumulator ? path : undefined;
    return { type: this.#typeOf(expr), path: knownPath, expr, size: this.#sizes.get(expr) ?? literalSize(expr) };
  }

  /** Undefined if unknown. */
  #knownSize({ size, path }: Part): Range | undefined {
    if (size !== undefined) return size;
    const max = path === undefined ? undefined : this.#sizeOfPath(path);
    return max === undefined ? undefined : { min: 0, max };
  }

  #size(part: Part): Range {
    return this.#knownSize(part) ?? (isScalar(part.type) ? one : { min: 0, max: unlimited });
  }

  /** The size for 1.24's own functions, which assume no limit for scalars. */
  #libSize(part: Part): Range {
    return this.#knownSize(part) ?? { min: 0, max: unlimited };
  }

  #fold({ range, init, condition, step, result, variable }: Fold): Range {
    const before = plus(this.cost(range), this.cost(init));
    this.#ranges.push([variable, range]);
    const each = plus(this.cost(step), this.cost(condition));
    this.#ranges.pop();
    const sum = plus(before, this.cost(result));
    return plus(sum, times(this.#size(this.#part(range)), each));
  }

  #call(expr: Call): Range {
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#part(arg));
    const overloads = this.#checked.overloads.get(expr) ?? [];
    if (overloads.length === 0) return none;
    const targetCost = expr.target === undefined ? none : this.cost(expr.target);
    const target = expr.target === undefined ? undefined : this.#part(expr.target);
    let cost: Range = { min: unlimited, max: 0 };
    let size: Range | undefined;
    for (const overload of overloads) {
      const estimate = this.#function({ fn: expr.fn, overload, target, args, argCosts });
      cost = union(cost, estimate.cost);
      if (estimate.size !== undefined) size = size === undefined ? estimate.size : union(size, estimate.size);
      const [first] = expr.args;
      const path = first === undefined ? undefined : (this.#paths.get(first) ?? []);
      if (path === undefined) continue;
      if (overload === 'index_list') this.#paths.set(expr, [...path, '@items']);
      else if (overload === 'index_map') this.#paths.set(expr, [...path, '@values']);
    }
    if (size !== undefined) this.#sizes.set(expr, size);
    return plus(targetCost, cost);
  }

  #function(request: CallRequest): CallEstimate {
    const { overload, target, args, argCosts } = request;
    const own = this.#ownFunction(request);
    const sum = argCosts.reduce(plus, none);
    if (own !== undefined) return { cost: plus(own, sum) };
    const [first, second, third] = args;
    const [left = none, right = none] = argCosts;
    const over = (cost: Range, size?: Range): CallEstimate => ({
      cost: plus(cost, sum),
      ...(size === undefined ? {} : { size }),
    });
    switch (overload) {
      case 'starts_with_string':
      case 'ends_with_string':
      case 'string_to_bytes':
      case 'bytes_to_string':
        if (first === undefined || args.length !== 1) break;
        return over(scaled(this.#size(first), costs.perCharacter));
      case 'in_list':
        if (second === undefined) break;
        return over(this.#size(second));
      case 'matches_string': {
        if (target === undefined || first === undefined) break;
        const text = scaled(plus(this.#size(target), one), costs.perCharacter);
        return over(times(text, scaled(this.#size(first), costs.perPatternCharacter)));
      }
      case 'contains_string': {
        if (target === undefined || first === undefined) break;
        const text = scaled(this.#size(target), costs.perCharacter);
        return over(times(text, scaled(this.#size(first), costs.perCharacter)));
      }
      case 'logical_or':
      case 'logical_and':
        return { cost: { min: left.min, max: plus(left, right).max } };
      case 'conditional': {
        if (second === undefined || third === undefined) break;
        const branches = union(right, argCosts[2] ?? none);
        return { cost: plus(left, branches), size: union(this.#size(second), this.#size(third)) };
      }
      case 'add_string':
      case 'add_bytes':
      case 'add_list': {
        if (first === undefined || second === undefined) break;
        const size = plus(this.#size(first), this.#size(second));
        return over(overload === 'add_list' ? one : scaled(size, costs.perCharacter), size);
      }
      default: {
        if (!comparesSizes.has(overload) || first === undefined || second === undefined) break;
        const max = Math.min(this.#size(first).max, this.#size(second).max);
        return over(scaled({ min: max > 0 ? 1 : 0, max }, costs.perCharacter));
      }
    }
    return over(one);
  }

  /** The cost of 1.24's own and of text functions, without sizes of results like 1.24; undefined for others. */
  #ownFunction({ fn, target, args }: CallRequest): Range | undefined {
    const [first, second] = args;
    switch (fn) {
      case 'isSorted':
      case 'sum':
      case 'max':
      case 'min':
      case 'indexOf':
      case 'lastIndexOf':
        return target === undefined ? undefined : this.#traversal(target);
      case 'url':
        return first === undefined ? undefined : scaled(this.#libSize(first), costs.perCharacter);
      case 'lowerAscii':
      case 'upperAscii':
      case 'substring':
      case 'trim':
        return target === undefined ? undefined : scaled(this.#libSize(target), costs.perCharacter);
      case 'replace':
        if (target === undefined || first === undefined || second === undefined) return undefined;
        return scaled(this.#libSize(target), 2 * costs.perCharacter);
      case 'split':
        return target === undefined ? undefined : scaled(this.#libSize(target), 2 * costs.perCharacter);
      case 'join':
        return target === undefined ? undefined : this.#join(target, first);
      case 'find':
      case 'findAll': {
        if (target === undefined || first === undefined) return undefined;
        const text = scaled(plus(this.#libSize(target), one), costs.perCharacter);
        return times(text, scaled(this.#libSize(first), costs.perPatternCharacter));
      }
      default:
        return undefined;
    }
  }

  #traversal(target: Part): Range {
    const size = this.#libSize(target);
    const element = elementOf(target);
    if (element === undefined) return scaled(size, costs.perCharacter);
    const isText = element.type === types.string || element.type === types.bytes;
    return times(size, isText ? plus(one, scaled(this.#libSize(element), costs.perCharacter)) : one);
  }

  #join(target: Part, separator: Part | undefined): Range {
    const list = this.#libSize(target);
    const element = elementOf(target);
    let size = element === undefined ? none : times(list, this.#libSize(element));
    if (separator !== undefined) {
      const between = { min: Math.max(list.min - 1, 0), max: Math.max(list.max - 1, 0) };
      size = plus(size, times(this.#libSize(separator), between));
    }
    return scaled(size, costs.perCharacter);
  }
}

interface CallRequest {
  readonly fn: string;
  readonly overload: string;
  readonly target: Part | undefined;
  readonly args: readonly Part[];
  readonly argCosts: readonly Range[];
}

const comparesSizes = new Set([
  ...['less', 'less_equals', 'greater', 'greater_equals'].flatMap((word) => [`${word}_string`, `${word}_bytes`]),
  'equals',
  'not_equals',
]);

function elementOf({ type, path }: Part): Part | undefined {
  if (type.kind !== 'list') return undefined;
  return {
    type: type.element,
    path: path === undefined ? undefined : [...path, '@items'],
    expr: undefined,
    size: undefined,
  };
}

/** The size of a literal. */
function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return exactly(expr.elements.length);
  if (expr.kind === 'map') return exactly(expr.entries.length);
  if (expr.kind !== 'const') return undefined;
  const { value } = expr;
  if (typeof value === 'string') return exactly(Buffer.byteLength(value));
  return exactly(value instanceof Uint8Array ? value.length : 1);
}

/** All values of the type have the same size. */
function isScalar(type: CelType): boolean {
  return (
    (type.kind === 'primitive' && type !== types.string && type !== types.bytes) ||
    type === types.duration ||
    type === types.timestamp
  );
}
