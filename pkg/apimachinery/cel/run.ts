/** An evaluation with its cost so far. Source: github.com/google/cel-go v0.10, interpreter/runtimecost.go. */
import type { Running } from '#apimachinery/cel/library.js';
import { costs } from '#apimachinery/cel/size-range.js';
import { CelList, CelMap, sizeOf, type Value } from '#apimachinery/cel/values.js';
import type { Pattern, Patterns } from '#apimachinery/patterns/pattern.js';

/** Aborts an evaluation. */
export class CostLimitExceeded extends Error {
  override readonly name = 'CostLimitExceeded';

  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/**
 * Limit of work that the language's cost model misses or undercharges: comparing whole trees, regular expressions with
 * many states. A unit takes about ten nanoseconds.
 */
const maxWork = 5_000_000;

export class Run implements Running {
  cost = 0;
  /** Variables of the environment, followed by those of enclosing folds. */
  readonly variables: Value[];
  readonly #limit: number;
  readonly #patterns: Patterns;
  /** Values of previous steps: the original takes argument sizes from them, even where they belong to other calls. */
  readonly #stack: Value[] = [];
  #work = 0;

  constructor(variables: readonly Value[], limit: number, patterns: Patterns) {
    this.variables = [...variables];
    this.#limit = limit;
    this.#patterns = patterns;
  }

  /** Records each step. Throws a CostLimitExceeded. */
  observe(value: Value, cost: number): Value {
    this.cost += cost;
    this.#stack.push(value);
    if (this.cost > this.#limit) throw new CostLimitExceeded();
    return value;
  }

  /** Removes and returns the last values; undefined if there are fewer. */
  pop(count: number): readonly Value[] | undefined {
    const from = this.#stack.length - count;
    if (from < 0) return undefined;
    const values = this.#stack.slice(from);
    this.#stack.length = from;
    return values;
  }

  work(units: number): void {
    this.#work += units;
    if (this.#work <= maxWork) return;
    this.cost = Math.max(this.cost, this.#limit + 1);
    throw new CostLimitExceeded();
  }

  pattern(text: string): Pattern {
    return this.#patterns.compile(text);
  }
}

const size = (value: Value | undefined): number => sizeOf(value) ?? 1;

/** The cost of a call. `overload` is empty if several are possible. */
export function callCost(fn: string, overload: string, arity: number, result: Value, run: Run): number {
  const args = run.pop(arity);
  if (args === undefined) return 0;
  const [first, second] = args;
  const own = ownCost(fn, args, result, run);
  if (own !== undefined) return own;
  switch (overload) {
    case 'starts_with_string':
    case 'ends_with_string':
    case 'string_to_bytes':
    case 'bytes_to_string':
      return Math.ceil(size(first) * costs.perCharacter);
    case 'in_list':
      return size(second);
    case 'add_string':
    case 'add_bytes':
      return Math.ceil((size(first) + size(second)) * costs.perCharacter);
    case 'matches_string':
      return patternCost(first, second);
    case 'contains_string':
      return Math.ceil(size(first) * costs.perCharacter) * Math.ceil(size(second) * costs.perCharacter);
    case 'equals':
    case 'not_equals':
      return Math.ceil(Math.min(size(first), size(second)) * costs.perCharacter);
    default:
      if (!comparesTexts.has(overload)) return 1;
      return Math.ceil(Math.min(size(first), size(second)) * costs.perCharacter);
  }
}

const comparesTexts = new Set(
  ['less', 'less_equals', 'greater', 'greater_equals'].flatMap((word) => [`${word}_string`, `${word}_bytes`]),
);

function patternCost(text: Value | undefined, pattern: Value | undefined): number {
  return Math.ceil((1 + size(text)) * costs.perCharacter) * Math.ceil(size(pattern) * costs.perPatternCharacter);
}

/** The cost of 1.24's own and of text functions. */
function ownCost(fn: string, args: readonly Value[], result: Value, run: Run): number | undefined {
  const [first, second] = args;
  switch (fn) {
    case 'isSorted':
    case 'sum':
    case 'max':
    case 'min':
    case 'indexOf':
    case 'lastIndexOf':
      return first === undefined ? 0 : traversal(first, run);
    case 'url':
    case 'lowerAscii':
    case 'upperAscii':
    case 'substring':
    case 'trim':
      return Math.ceil(size(first) * costs.perCharacter);
    case 'replace':
    case 'split':
      return Math.ceil(size(first) * 2 * costs.perCharacter);
    case 'join':
      return Math.ceil(size(result) * 2 * costs.perCharacter);
    case 'find':
    case 'findAll':
      return args.length < 2 ? undefined : patternCost(first, second);
    default:
      return undefined;
  }
}

/** The cost of traversing a whole value. */
function traversal(value: Value, run: Run): number {
  run.work(1);
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) * costs.perCharacter);
  if (value instanceof Uint8Array) return Math.trunc(value.length * costs.perCharacter);
  let cost = 0;
  if (value instanceof CelList) {
    for (let i = 0; i < value.size; i++) cost += traversal(value.at(i), run);
    return cost;
  }
  if (!(value instanceof CelMap)) return 1;
  for (const key of value.keys()) cost += traversal(key, run) + traversal(value.find(key) ?? null, run);
  return cost;
}
