/** Formats JSON values like Go's `%T`, `%v` and `%#v`, for messages of 1.24. */
import { cut, quoted } from '#apimachinery/errors/message-values.js';
import { NumberLiteral } from '#apimachinery/json-text.js';

/** `shortest`: the digits in JavaScript's exponent form, for values that are not doubles in Go. */
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
      // In Go a double beyond 2^53 is also a double; an integer is a bigint here.
      return Number.isSafeInteger(value) ? 'int64' : 'float64';
    case 'bigint':
      return 'int64';
    default:
      return 'map[string]interface {}';
  }
}

/** The name of a value in errors of Go's JSON decoder: `cannot unmarshal array into …`. */
export function jsonName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint' || value instanceof NumberLiteral) return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

/** `%v`: `map[a:1 b:[x y]]`. Truncated if long. */
export function goText(value: unknown): string {
  return cut(formatGoText(value));
}

/** `%#v`: `map[string]interface {}{"a":1}`. Truncated if long. */
export function goSyntax(value: unknown): string {
  return cut(formatGoSyntax(value));
}

function formatGoText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatGoText).join(' ')}]`;
  if (typeof value !== 'object' || value instanceof NumberLiteral) return scalarText(value);
  return `map[${inOrder(value)
    .map(([name, member]) => `${name}:${formatGoText(member)}`)
    .join(' ')}]`;
}

function formatGoSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value instanceof NumberLiteral) return scalarText(value);
  const parts = Array.isArray(value)
    ? value.map(formatGoSyntax)
    : inOrder(value).map(([name, member]) => `${quoted(name)}:${formatGoSyntax(member)}`);
  return `${goTypeOf(value)}{${parts.join(', ')}}`;
}

function scalarText(value: unknown): string {
  const scalar = value instanceof NumberLiteral ? value.value : value;
  return typeof scalar === 'number' && !Number.isSafeInteger(scalar) ? goFloat(scalar) : String(scalar);
}

/** Go prints maps sorted by key. */
function inOrder(value: object): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
