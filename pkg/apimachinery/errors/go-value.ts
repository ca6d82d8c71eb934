/** JSON values as Go prints what its decoders make of them, for messages that 1.24 writes with `%T`, `%v` and `%#v`. */
import { cut, quoted } from '#apimachinery/errors/shown.js';
import { NumberLiteral } from '#apimachinery/json-text.js';

/** `shortest`: the digits in JavaScript's form with an exponent, where they are not those of a double. */
export function goFloat(value: number, shortest: string = value.toExponential()): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', exponent = '0'] = shortest.split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return expanded(digits, power);
  const sign = power < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

function expanded(mantissa: string, power: number): string {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`;
  if (digits.length <= power + 1) return sign + digits.padEnd(power + 1, '0');
  return `${sign}${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`;
}

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
      // A double beyond 2^53 is one in Go, too: an integer is a bigint.
      return Number.isSafeInteger(value) ? 'int64' : 'float64';
    case 'bigint':
      return 'int64';
    default:
      return 'map[string]interface {}';
  }
}

/** What Go's JSON decoder calls a value that it cannot put where it should go: `cannot unmarshal array into …`. */
export function jsonName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint' || value instanceof NumberLiteral) return 'number';
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
  if (typeof value !== 'object' || value instanceof NumberLiteral) return scalarText(value);
  return `map[${inOrder(value)
    .map(([name, member]) => `${name}:${textOf(member)}`)
    .join(' ')}]`;
}

function syntaxOf(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value instanceof NumberLiteral) return scalarText(value);
  const parts = Array.isArray(value)
    ? value.map(syntaxOf)
    : inOrder(value).map(([name, member]) => `${quoted(name)}:${syntaxOf(member)}`);
  return `${goTypeOf(value)}{${parts.join(', ')}}`;
}

function scalarText(value: unknown): string {
  const scalar = value instanceof NumberLiteral ? value.value : value;
  return typeof scalar === 'number' && !Number.isSafeInteger(scalar) ? goFloat(scalar) : String(scalar);
}

/** Go prints maps by the order of their keys. */
function inOrder(value: object): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
