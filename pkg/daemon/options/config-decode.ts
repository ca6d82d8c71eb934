/** Decodes plain data by a table of fields. Unknown fields and wrong types are errors that name the field. */

import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { parseDuration } from '#apimachinery/duration.js';
import { isQuantity } from '#apimachinery/quantity.js';
import { OptionsError } from '#daemon/options/option.js';

export type ScalarType =
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float'
  | 'string'
  /** `1m30s`. */
  | 'duration'
  /** A number of nanoseconds, or a duration text. */
  | 'nanoseconds'
  /** A resource quantity, as text or number. */
  | 'quantity'
  /** Anything; its reader validates it. */
  | 'any';

export type FieldType =
  | ScalarType
  /** Zero or empty means absent. */
  | { readonly unsetWhenZero: ScalarType }
  | { readonly listOf: FieldType }
  | { readonly mapOf: FieldType }
  | { readonly fields: FieldTable; readonly required?: readonly string[] };

export type FieldTable = Readonly<Record<string, FieldType>>;

export type Plain = Readonly<Record<string, unknown>>;

export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Decodes the fields; nulls, and zeros that mean "absent", are left out. Appends problems to `errors`. */
export function decodeFields(
  table: FieldTable,
  value: Plain,
  errors: string[],
  path = '',
  required: readonly string[] = [],
): Plain {
  const result: Record<string, unknown> = {};
  for (const name of required) {
    if ((value[name] ?? undefined) === undefined) errors.push(`${path}${name}: Required value`);
  }
  for (const [name, item] of Object.entries(value)) {
    const type = Object.hasOwn(table, name) ? table[name] : undefined;
    if (type === undefined) errors.push(`unknown field ${JSON.stringify(`${path}${name}`)}`);
    else if (item !== null) {
      const decoded = decode(type, item, errors, `${path}${name}`);
      if (decoded !== undefined) result[name] = decoded;
    }
  }
  return result;
}

function decode(type: FieldType, value: unknown, errors: string[], path: string): unknown {
  if (typeof type === 'string') return scalar(type, value, errors, path);
  if ('unsetWhenZero' in type) {
    const decoded = scalar(type.unsetWhenZero, value, errors, path);
    const zero = type.unsetWhenZero === 'duration' && typeof decoded === 'string' && isZeroDuration(decoded);
    return decoded === 0 || decoded === '' || zero ? undefined : decoded;
  }
  if ('listOf' in type) {
    if (!Array.isArray(value)) return wrong(errors, path, 'a list', value);
    return value.map((item, i) => decode(type.listOf, item, errors, `${path}[${i}]`));
  }
  if (!isPlain(value)) return wrong(errors, path, 'an object', value);
  if ('fields' in type) return decodeFields(type.fields, value, errors, `${path}.`, type.required);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, decode(type.mapOf, item, errors, `${path}[${key}]`)]),
  );
}

const isZeroDuration = (text: string): boolean => /^[+-]?0+(\.0*)?[a-z\u00b5\u03bc]*$/.test(text);

const bounds: Readonly<Partial<Record<ScalarType, number>>> = { int32: 2 ** 31, int64: 2 ** 53 };

function scalar(type: ScalarType, value: unknown, errors: string[], path: string): unknown {
  switch (type) {
    case 'bool':
      return typeof value === 'boolean' ? value : wrong(errors, path, 'true or false', value);
    case 'string':
      return typeof value === 'string' ? value : wrong(errors, path, 'a string', value);
    case 'float':
      return typeof value === 'number' ? value : wrong(errors, path, 'a number', value);
    case 'int32':
    case 'int64': {
      const bound = bounds[type] ?? 0;
      const fits = Number.isInteger(value) && Number(value) < bound && Number(value) >= -bound;
      return fits ? value : wrong(errors, path, `an integer (${type})`, value);
    }
    case 'quantity': {
      const text = typeof value === 'number' ? String(value) : value;
      return typeof text === 'string' && isQuantity(text) ? text : wrong(errors, path, 'a quantity', value);
    }
    case 'nanoseconds':
      if (typeof value === 'number' && Number.isSafeInteger(value)) return `${value}ns`;
      return durationText(value) ?? wrong(errors, path, 'a number of nanoseconds or a duration', value);
    case 'any':
      return value;
    case 'duration':
      return durationText(value) ?? wrong(errors, path, 'a duration such as "1m30s"', value);
    default:
      return type satisfies never;
  }
}

function durationText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    parseDuration(value);
    return value;
  } catch {
    return undefined;
  }
}

function wrong(errors: string[], path: string, expected: string, value: unknown): undefined {
  errors.push(`${path}: Invalid value: ${JSON.stringify(value)}: must be ${expected}`);
  return undefined;
}

/** Parses a configuration file, JSON or YAML, and refuses duplicate fields. Throws OptionsError. */
export function parseConfigText(text: string): Plain {
  let file: unknown;
  try {
    file = parseYAML(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new OptionsError([error.message]);
  }
  if (!isPlain(file)) throw new OptionsError(['must be an object']);
  return file;
}
