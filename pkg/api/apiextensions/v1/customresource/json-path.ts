/**
 * Paths into custom objects, as columns and scales name them: the simple JSON paths that 1.24 allows there (`.spec.size`,
 * `.metadata.annotations['a.b']`, `.status.conditions[?(@.type=="Ready")].status`, `.items[0]`, `[*]`). Source: 1.24,
 * staging/src/k8s.io/client-go/util/jsonpath.
 */
import { isMembers } from '#api/apiextensions/v1/structural/structural.js';

type Step =
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'where'; readonly path: readonly Step[]; readonly equals: boolean; readonly value: unknown };

/** Longer ones are no paths of columns. */
const maxSteps = 100;

export class JsonPath {
  readonly #steps: readonly Step[];

  /** Of a text that is no such path, nothing is found. */
  constructor(text: string) {
    this.#steps = parse(text) ?? [{ kind: 'index', index: -1 }];
  }

  /** The first value at the path; undefined where there is none. */
  first(object: unknown): unknown {
    return find([object], this.#steps)[0];
  }
}

/** The names of a path that has nothing but names, as those of scales: `.spec.replicas`. */
export function membersOf(path: string): readonly string[] {
  return (parse(path) ?? []).flatMap((step) => (step.kind === 'member' ? [step.name] : []));
}

function find(values: readonly unknown[], steps: readonly Step[]): readonly unknown[] {
  let found = values;
  for (const step of steps) found = found.flatMap((value) => apply(value, step));
  return found;
}

function apply(value: unknown, step: Step): readonly unknown[] {
  switch (step.kind) {
    case 'member':
      return isMembers(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'index': {
      if (!Array.isArray(value)) return [];
      const at = step.index < 0 ? value.length + step.index : step.index;
      return at >= 0 && at < value.length ? [value[at]] : [];
    }
    case 'all':
      return Array.isArray(value) ? value : isMembers(value) ? Object.values(value) : [];
    case 'where':
      return Array.isArray(value)
        ? value.filter((element) => {
            const [actual] = find([element], step.path);
            return actual !== undefined && (actual === step.value) === step.equals;
          })
        : [];
  }
}

const member = /^\.?((?:[^.[\]\\\s]|\\.)+)/;
const bracketed = /^\[(?:'([^']*)'|"([^"]*)"|(-?\d+)|(\*))\]/;
const filter = /^\[\?\(\s*@((?:\.[^\s=!<>()]+|\['[^']*'\])+)\s*(==|!=)\s*("[^"]*"|'[^']*'|-?[\d.]+|true|false)\s*\)\]/;

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

function next(text: string): { readonly step: Step; readonly length: number } | undefined {
  const where = filter.exec(text);
  if (where !== null) {
    const path = parse(where[1] ?? '');
    if (path === undefined) return undefined;
    const step = { kind: 'where', path, equals: where[2] === '==', value: literal(where[3] ?? '') } as const;
    return { step, length: where[0].length };
  }
  const inBrackets = bracketed.exec(text.startsWith('.[') ? text.slice(1) : text);
  if (inBrackets !== null) {
    const length = inBrackets[0].length + (text.startsWith('.[') ? 1 : 0);
    const name = inBrackets[1] ?? inBrackets[2];
    if (name !== undefined) return { step: { kind: 'member', name }, length };
    if (inBrackets[4] !== undefined) return { step: { kind: 'all' }, length };
    return { step: { kind: 'index', index: Number(inBrackets[3]) }, length };
  }
  const named = member.exec(text);
  if (named === null) return undefined;
  const name = (named[1] ?? '').replace(/\\(.)/g, '$1');
  return { step: name === '*' ? { kind: 'all' } : { kind: 'member', name }, length: named[0].length };
}

function literal(text: string): unknown {
  if (text.startsWith('"') || text.startsWith("'")) return text.slice(1, -1);
  return text === 'true' || text === 'false' ? text === 'true' : Number(text);
}
