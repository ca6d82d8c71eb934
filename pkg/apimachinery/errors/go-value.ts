/** JSON values as Go prints what its decoders make of them, for messages that 1.24 writes with `%T`, `%v` and `%#v`. */
import { cut, quoted } from '#apimachinery/errors/shown.js';

/** `%T`. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    default:
      return 'map[string]interface {}';
  }
}

/** What Go's JSON decoder calls a value that it cannot put where it should go: `cannot unmarshal array into …`. */
export function jsonName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** `%v`: `map[a:1 b:[x y]]`. Cut where it gets long. */
export function goText(value: unknown): string {
  return cut(textOf(value));
}

/** `%#v`: `map[string]interface {}{"a":1}`. Cut where it gets long. */
export function goSyntax(value: unknown): string {
  return cut(syntaxOf(value));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(textOf).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  return `map[${inOrder(value)
    .map(([name, member]) => `${name}:${textOf(member)}`)
    .join(' ')}]`;
}

function syntaxOf(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object') return String(value);
  const parts = Array.isArray(value)
    ? value.map(syntaxOf)
    : inOrder(value).map(([name, member]) => `${quoted(name)}:${syntaxOf(member)}`);
  return `${goTypeOf(value)}{${parts.join(', ')}}`;
}

/** Go prints maps by the order of their keys. */
function inOrder(value: object): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
