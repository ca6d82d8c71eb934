/**
 * JSON paths into custom objects, as in columns and scales: the simple forms that 1.24 allows there (`.spec.size`,
 * `.metadata.annotations['a.b']`, `.status.conditions[?(@.type=="Ready")].status`, `.items[0]`, `[-1:]`, `[*]`,
 * `..name`). Source: 1.24, staging/src/k8s.io/client-go/util/jsonpath.
 */
import { isMembers } from '#api/apiextensions/v1/structural/structural.js';

type Step =
  | { readonly kind: 'member'; readonly name: string }
  | Slice
  | { readonly kind: 'all' }
  /** Members of that name at any depth. */
  | { readonly kind: 'deep'; readonly name: string }
  /** The values of all paths in order. */
  | { readonly kind: 'union'; readonly paths: readonly (readonly Step[])[] }
  | Filter;

/** `[start:end:step]`, where absent parts default to the whole list; a single index is a slice of length one. */
interface Slice {
  readonly kind: 'slice';
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly step: number | undefined;
  /** True for a single index, which determines the end. */
  readonly isIndex: boolean;
}

interface Filter {
  readonly kind: 'where';
  readonly path: readonly Step[];
  readonly operator: string;
  readonly value: unknown;
}

/** Maximum number of steps in a column's path. */
const maxSteps = 100;

/** Limit of the values that all paths of a row visit: unions and searches at any depth multiply them. */
const maxVisits = 500_000;

/** Thrown when the paths of a row visit too much. */
export class TooManyVisits extends Error {
  constructor() {
    super(`paths visit more than ${maxVisits} values`);
  }
}

/** Counts the values that paths visit. */
export class Visits {
  #left = maxVisits;

  count(values: number): void {
    this.#left -= values;
    if (this.#left < 0) throw new TooManyVisits();
  }
}

/** A path without a value, even if other elements have one. */
class NoSuchPath extends Error {}

export class JsonPath {
  readonly #steps: readonly Step[] | undefined;

  /** An invalid path yields no values. */
  constructor(text: string) {
    this.#steps = parse(text);
  }

  /** The first value at the path; undefined if there is none. Throws TooManyVisits. */
  first(object: unknown, visits: Visits = new Visits()): unknown {
    if (this.#steps === undefined) return undefined;
    try {
      return find([object], this.#steps, visits)[0];
    } catch (error) {
      if (error instanceof NoSuchPath) return undefined;
      throw error;
    }
  }
}

/** The names in a path of names only, such as those of scales: `.spec.replicas`. */
export function membersOf(path: string): readonly string[] {
  return (parse(path) ?? []).flatMap((step) => (step.kind === 'member' ? [step.name] : []));
}

function find(values: readonly unknown[], steps: readonly Step[], visits: Visits): readonly unknown[] {
  let current = values;
  for (const step of steps) {
    const from = current;
    current =
      step.kind === 'union'
        ? step.paths.flatMap((path) => visited(find(from, path, visits), visits))
        : from.flatMap((value) => visited(apply(value, step, visits), visits));
  }
  return current;
}

function visited(values: readonly unknown[], visits: Visits): readonly unknown[] {
  visits.count(values.length + 1);
  return values;
}

function apply(value: unknown, step: Exclude<Step, { kind: 'union' }>, visits: Visits): readonly unknown[] {
  switch (step.kind) {
    case 'member':
      return isMembers(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'slice':
      return value === null ? [] : sliced(value, step);
    case 'all':
      return Array.isArray(value) ? value : isMembers(value) ? Object.values(value) : [];
    case 'deep':
      return [...deep(value, step.name, visits)];
    case 'where':
      if (!Array.isArray(value)) throw new NoSuchPath();
      return value.filter((element) => passes(element, step, visits));
  }
}

function sliced(list: unknown, { start = 0, end, step = 1, isIndex }: Slice): readonly unknown[] {
  if (!Array.isArray(list)) throw new NoSuchPath();
  const from = start < 0 ? start + list.length : start;
  const given = end ?? list.length;
  const to = given < 0 || (given === 0 && isIndex) ? given + list.length : given;
  if (from === to) return [];
  if (from < 0 || from >= list.length || to < 0 || to > list.length || from > to || step <= 0) throw new NoSuchPath();
  return list.slice(from, to).filter((_, i) => i % step === 0);
}

function* deep(value: unknown, name: string, visits: Visits): Generator<unknown> {
  visits.count(1);
  if (isMembers(value) && Object.hasOwn(value, name)) yield value[name];
  if (Array.isArray(value)) for (const element of value) yield* deep(element, name, visits);
  else if (isMembers(value)) for (const member of Object.values(value)) yield* deep(member, name, visits);
}

function passes(element: unknown, { path, operator, value }: Filter, visits: Visits): boolean {
  const operands = find([element], path, visits);
  if (operator === '') return operands.length > 0;
  if (operands.length > 1) throw new NoSuchPath();
  const [actual] = operands;
  if (actual === undefined) return false;
  if (operator === '==') return actual === value;
  if (operator === '!=') return actual !== value;
  if (typeof actual !== typeof value || typeof actual === 'object') throw new NoSuchPath();
  const [left, right] = [actual as number, value as number];
  if (operator === '<') return left < right;
  if (operator === '<=') return left <= right;
  return operator === '>' ? left > right : left >= right;
}

const member = /^\.?((?:[^.[\]\\\s]|\\.)+)/;
const recursive = /^\.\.((?:[^.[\]\\\s]|\\.)+)/;
const bracketed = /^\.?\[([^[\]?]*(?:'[^']*'|"[^"]*")?[^[\]?]*)\]/;
const quoted = /^(?:'([^']*)'|"([^"]*)")$/;
const range = /^(-?\d+)?(?::(-?\d+)?(?::(-?\d+)?)?)?$/;
const filter =
  /^\[\?\(\s*@((?:\.[^\s=!<>()]+|\['[^']*'\])+)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|-?[\d.]+|true|false)\s*)?\)\]/;

function parse(text: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  let rest = text.trim();
  if (rest.startsWith('{') && rest.endsWith('}')) rest = rest.slice(1, -1);
  if (rest.startsWith('$')) rest = rest.slice(1);
  while (rest !== '' && rest !== '.') {
    const { step, length } = next(rest) ?? {};
    if (step === undefined || length === undefined || steps.length === maxSteps) return undefined;
    steps.push(step);
    rest = rest.slice(length);
  }
  return steps;
}

interface Parsed {
  readonly step: Step;
  readonly length: number;
}

function next(text: string): Parsed | undefined {
  const where = filter.exec(text);
  if (where !== null) {
    const path = parse(where[1] ?? '');
    if (path === undefined) return undefined;
    const [, , operator = '', value = ''] = where;
    return { step: { kind: 'where', path, operator, value: literal(value) }, length: where[0].length };
  }
  const inBrackets = bracketed.exec(text);
  if (inBrackets !== null) {
    const parts = (inBrackets[1] ?? '').match(/'[^']*'|"[^"]*"|[^,]+/g)?.map((part) => bracketStep(part.trim())) ?? [];
    if (parts.length === 0 || parts.includes(undefined)) return undefined;
    const [first, ...others] = parts as Step[];
    if (first === undefined) return undefined;
    const step: Step = others.length === 0 ? first : { kind: 'union', paths: [first, ...others].map((one) => [one]) };
    return { step, length: inBrackets[0].length };
  }
  const anywhere = recursive.exec(text);
  if (anywhere !== null) return { step: { kind: 'deep', name: unescaped(anywhere[1]) }, length: anywhere[0].length };
  const named = member.exec(text);
  if (named === null) return undefined;
  const name = unescaped(named[1]);
  return { step: name === '*' ? { kind: 'all' } : { kind: 'member', name }, length: named[0].length };
}

function bracketStep(text: string): Step | undefined {
  if (text === '*') return { kind: 'all' };
  const named = quoted.exec(text);
  // Dots inside quotes still separate names unless escaped.
  if (named !== null) {
    const path = parse(`.${named[1] ?? named[2] ?? ''}`);
    return path?.length === 1 ? path[0] : path && { kind: 'union', paths: [path] };
  }
  const bounds = range.exec(text);
  if (bounds === null) return undefined;
  const [start, end, step] = bounds.slice(1).map((bound) => (bound === undefined ? undefined : Number(bound)));
  const isIndex = !text.includes(':');
  return { kind: 'slice', start, end: isIndex && start !== undefined ? start + 1 : end, step, isIndex };
}

function unescaped(name = ''): string {
  return name.replace(/\\(.)/g, '$1');
}

function literal(text: string): unknown {
  if (text.startsWith('"') || text.startsWith("'")) return text.slice(1, -1);
  return text === 'true' || text === 'false' ? text === 'true' : Number(text);
}
