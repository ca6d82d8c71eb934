/**
 * Describes why the result of a strategic merge patch violates its type, in the words of 1.24, which converts such
 * results instead of decoding them (apimachinery/pkg/runtime/converter.go).
 */

import { canonicalBase64 } from '#apimachinery/codec/json/base64.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { goTypeOf, jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** Types with their own JSON decoder in 1.24, and the Go type that it decodes into. */
const decoded: Readonly<Partial<Record<TypeInfo['shape'], string>>> = {
  time: 'string',
  microTime: 'string',
  duration: 'string',
  intOrString: 'int32',
};

/** The first failure; undefined where 1.24 reports the decoder's error. */
export function conversionFailure(type: TypeInfo, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (type.shape === 'struct')
    return isJsonObject(value) ? structFailure(type, value) : notRestored('struct', value, 'from:');
  const into = decoded[type.shape];
  const fits = typeof value === 'string' || (into === 'int32' && typeof value === 'number');
  return into === undefined || fits
    ? undefined
    : `json: cannot unmarshal ${jsonName(value)} into Go value of type ${into}`;
}

function structFailure(type: TypeInfo, object: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, field] of type.byName) {
    if (!Object.hasOwn(object, name)) continue;
    const failure = fieldFailure(field, object[name]);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function fieldFailure(field: FieldInfo, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (field.container === 'single') return valueFailure(field, value);
  if (field.container === 'list') {
    return Array.isArray(value) ? firstFailure(field, value) : notRestored('slice', value, 'from');
  }
  return isJsonObject(value) ? firstFailure(field, Object.values(value)) : notRestored('map', value, 'from');
}

function firstFailure(field: FieldInfo, values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const failure = valueFailure(field, value);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

function valueFailure({ type, scalar, goType }: FieldInfo, value: unknown): string | undefined {
  if (type !== undefined) return conversionFailure(type, value);
  return scalar === undefined || value === null || value === undefined
    ? undefined
    : scalarFailure(scalar, value, goType);
}

function notRestored(into: string, value: unknown, word: string): string {
  return `cannot restore ${into} ${word} ${kindOf(value)}`;
}

/** Go's kind of a JSON value. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice';
  return isJsonObject(value) ? 'map' : goTypeOf(value);
}

const numbers: ReadonlySet<string> = new Set(['int32', 'int64', 'uint32', 'uint64', 'float32', 'float64']);

function scalarFailure(scalar: Scalar, value: unknown, goType: string | undefined): string | undefined {
  if (scalar === 'bytes') return typeof value === 'string' ? bytesFailure(value) : notRestored('slice', value, 'from');
  const into = scalar === 'double' ? 'float64' : scalar === 'float' ? 'float32' : scalar;
  const from = kindOf(value);
  if (from === into || (from === 'int64' && fits(value as number, scalar))) return undefined;
  // Go converts whole numbers to text as a character code.
  const convertible = numbers.has(from) && (numbers.has(into) || (into === 'string' && from === 'int64'));
  return convertible ? `cannot convert ${from} to ${goType ?? into}` : `unrecognized type: ${into}`;
}

function bytesFailure(text: string): string | undefined {
  try {
    canonicalBase64(text);
    return undefined;
  } catch (error) {
    return `error decoding from json: ${messageOf(error)}`;
  }
}

/** Whether a whole number fits the type. 1.24 truncates other numbers, which is refused here. */
function fits(value: number, scalar: Scalar): boolean {
  if (scalar === 'int32') return (value | 0) === value;
  if (scalar === 'uint32') return value >>> 0 === value;
  return scalar === 'int64' || scalar === 'double' || scalar === 'float' || (scalar === 'uint64' && value >= 0);
}
