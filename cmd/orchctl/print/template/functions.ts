/** The functions of Go templates, and kubectl's own. Pure. */
import { goText } from '#apimachinery/errors/go-value.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { TemplateError } from '#cmd/orchctl/print/template/nodes.js';

/** What counts as true in conditions: anything that is not empty. */
export function isTrue(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'object') return (Array.isArray(value) ? value : Object.keys(value)).length > 0;
  return typeof value === 'bigint' ? value !== 0n : Boolean(value);
}

export function lengthOf(value: unknown): number | undefined {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : undefined;
}

export const functions: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  not: (value) => !isTrue(value),
  len: (value) => {
    const length = lengthOf(value);
    if (length === undefined) throw new TemplateError(`len of type ${typeof value}`);
    return length;
  },
  index,
  slice: (value, from = 0, to = undefined) => {
    if (typeof value !== 'string' && !Array.isArray(value))
      throw new TemplateError(`can't slice item of type ${typeof value}`);
    return value.slice(Number(from), to === undefined ? undefined : Number(to));
  },
  print: (...args) =>
    args
      .map((arg, i) =>
        i > 0 && typeof arg !== 'string' && typeof args[i - 1] !== 'string' ? ` ${goText(arg)}` : goText(arg),
      )
      .join(''),
  println: (...args) => `${args.map(goText).join(' ')}\n`,
  printf: (format, ...args) => formatted(String(format), args),
  eq: (first, ...rest) => rest.some((each) => same(first, each)),
  ne: (a, b) => !same(a, b),
  lt: (a, b) => compare(a, b) < 0,
  le: (a, b) => compare(a, b) <= 0,
  gt: (a, b) => compare(a, b) > 0,
  ge: (a, b) => compare(a, b) >= 0,
  html: (...args) =>
    args
      .map(goText)
      .join('')
      .replaceAll(/[&<>"']/g, (character) => `&${htmlNames[character]};`),
  js: (...args) => JSON.stringify(args.map(goText).join('')).slice(1, -1).replaceAll("'", "\\'"),
  urlquery: (...args) => new URLSearchParams({ q: args.map(goText).join('') }).toString().slice(2),
  exists: (value, ...path) => exists(value, path),
  base64decode: (value) => {
    if (typeof value !== 'string') throw new TemplateError('base64 decode of a value that is no text');
    return Buffer.from(value, 'base64').toString('utf8');
  },
};

const htmlNames: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': '#34', "'": '#39' };

function index(value: unknown, ...keys: unknown[]): unknown {
  let current = value;
  for (const key of keys) {
    if (Array.isArray(current)) {
      const at = Number(key);
      if (!Number.isInteger(at) || at < 0 || at >= current.length)
        throw new TemplateError(`error calling index: index out of range: ${String(key)}`);
      current = current[at];
    } else if (typeof current === 'object' && current !== null) {
      current = Object.hasOwn(current, String(key)) ? (current as Record<string, unknown>)[String(key)] : undefined;
    } else throw new TemplateError('error calling index: index of untyped nil');
  }
  return current;
}

function exists(value: unknown, path: readonly unknown[]): boolean {
  try {
    return index(value, ...path) !== undefined;
  } catch (error) {
    if (error instanceof TemplateError) return false;
    throw error;
  }
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function same(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined || a === null || b === null) return (a ?? undefined) === (b ?? undefined);
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b);
  if (typeof a !== typeof b) throw new TemplateError('error calling eq: incompatible types for comparison');
  return a === b;
}

function compare(a: unknown, b: unknown): number {
  if (isNumber(a) && isNumber(b)) return Number(a) - Number(b);
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  throw new TemplateError('error calling lt: invalid type for comparison');
}

/** The verbs of fmt.Printf that fit the values of objects. */
function formatted(format: string, args: readonly unknown[]): string {
  let next = 0;
  const text = format.replaceAll(
    /%([-+ 0#]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g,
    (_, flags: string, width: string | undefined, precision: string | undefined, verb: string) => {
      if (verb === '%') return '%';
      if (next >= args.length) return `%!${verb}(MISSING)`;
      const part = withVerb(args[next++], verb, precision === undefined ? undefined : Number(precision));
      const columns = Number(width ?? 0);
      if (flags.includes('-')) return part.padEnd(columns);
      return part.padStart(columns, flags.includes('0') ? '0' : ' ');
    },
  );
  const extra = args.slice(next).map((arg) => `${typeof arg}=${goText(arg)}`);
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`;
}

function withVerb(value: unknown, verb: string, precision: number | undefined): string {
  switch (verb) {
    case 's':
    case 'v': {
      const text = goText(value ?? null);
      return precision === undefined ? text : text.slice(0, precision);
    }
    case 'q':
      return typeof value === 'string' ? JSON.stringify(value) : goText(value);
    case 'd':
      return isNumber(value) ? String(value) : `%!d(${typeof value}=${goText(value)})`;
    case 'f':
      return isNumber(value) ? Number(value).toFixed(precision ?? 6) : `%!f(${typeof value}=${goText(value)})`;
    case 'x':
      return isNumber(value) ? value.toString(16) : Buffer.from(goText(value)).toString('hex');
    case 't':
      return String(value);
    case 'T':
      return typeof value;
    default:
      return `%!${verb}(${goJSON(value)})`;
  }
}
