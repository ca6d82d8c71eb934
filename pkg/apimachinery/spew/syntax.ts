/**
 * Formats API values in Go syntax (`%#v`), as messages of 1.24 show non-scalars: in the server's internal types without
 * version (`core.Toleration`).
 */

import { goFloat } from '#apimachinery/errors/go-value.js';
import { hexBytes, quoted } from '#apimachinery/errors/message-values.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import type { GoFields } from '#apimachinery/spew/dump.js';
import { quantitySyntax } from '#apimachinery/spew/quantity.js';

/** Types of the core group that other groups use. */
const coreTypes: ReadonlySet<string> = new Set(['ResourceName', 'ResourceList']);

/** A value of a type. Pure. */
export function goTypeSyntax(type: TypeInfo, value: unknown, fieldsOf: GoFields): string {
  switch (type.shape) {
    case 'struct':
      return structSyntax(type, value, fieldsOf);
    case 'quantity':
      return quantitySyntax(typeof value === 'string' ? value : undefined);
    case 'intOrString':
      return intOrStringSyntax(value);
    case 'time':
    case 'microTime':
      return timeSyntax(value);
    default:
      throw new RangeError(`${type.name} is not shown in Go's syntax`);
  }
}

function structSyntax(type: TypeInfo, value: unknown, fieldsOf: GoFields): string {
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  const members = fieldsOf(type).map(
    ({ field, name }) => `${name}:${goFieldSyntax(type, field, field.inline ? object : object[field.name], fieldsOf)}`,
  );
  return `${internalName(type)}{${members.join(', ')}}`;
}

/** A field's value. Absent and null are nil. Pure. */
export function goFieldSyntax(parent: TypeInfo, field: FieldInfo, value: unknown, fieldsOf: GoFields): string {
  const { container, pointer, keyScalar } = field;
  const element = elementName(parent, field);
  const isNil = value === undefined || value === null;
  const shown = (one: unknown) =>
    field.type === undefined ? scalarSyntax(field.scalar, one) : goTypeSyntax(field.type, one, fieldsOf);
  if (container === 'list') {
    return isNil ? `[]${element}(nil)` : `[]${element}{${(value as readonly unknown[]).map(shown).join(', ')}}`;
  }
  if (container === 'map') {
    const name = field.goType === undefined ? `map[${keyScalar}]${element}` : element;
    if (isNil) return `${name}(nil)`;
    const entries = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return `${name}{${entries.map(([key, one]) => `${quoted(key)}:${shown(one)}`).join(', ')}}`;
  }
  if (!pointer) return shown(value);
  if (isNil) return isTime(field.type) ? '<nil>' : `(*${element})(nil)`;
  // 1.24 prints the memory address of the value, which differs each time.
  return `(*${element})(${shown(value)})`;
}

function isTime(type: TypeInfo | undefined): boolean {
  return type?.shape === 'time' || type?.shape === 'microTime';
}

function elementName(parent: TypeInfo, { goType, type, scalar }: FieldInfo): string {
  if (goType !== undefined) return internalGoType(parent, goType);
  if (type !== undefined) return internalName(type);
  if (scalar === 'bytes') return '[]uint8';
  return scalar === 'double' ? 'float64' : scalar === 'float' ? 'float32' : String(scalar);
}

/** Metadata types have no separate internal version. */
function internalName({ name, shortName, goName }: TypeInfo): string {
  const [group = '', version = ''] = name.split('.');
  return group === 'meta' || version === shortName ? goName : `${group}.${shortName}`;
}

function internalGoType({ name }: TypeInfo, goType: string): string {
  const [group = '', version = ''] = name.split('.');
  const [pkg = '', shortName = ''] = goType.split('.');
  if (group === 'meta' || !/^v\d/.test(pkg)) return goType;
  return `${pkg !== version || coreTypes.has(shortName) ? 'core' : group}.${shortName}`;
}

function scalarSyntax(scalar: Scalar | undefined, value: unknown): string {
  if (scalar === 'string') return quoted(typeof value === 'string' ? value : '');
  if (scalar === 'bytes') return typeof value === 'string' ? `[]uint8{${hexBytes(value)}}` : '[]uint8(nil)';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : goFloat(value);
  return String(value ?? (scalar === 'bool' ? false : 0));
}

function intOrStringSyntax(value: unknown): string {
  const isText = typeof value === 'string';
  const number = isText ? 0 : (value ?? 0);
  return `intstr.IntOrString{Type:${isText ? 1 : 0}, IntVal:${number}, StrVal:${quoted(isText ? value : '')}}`;
}

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
const nanosPerMilli = 1_000_000;

/** Formatted in UTC. */
function timeSyntax(value: unknown): string {
  const time = typeof value === 'string' ? new Date(value) : undefined;
  if (time === undefined || Number.isNaN(time.getTime())) return 'time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)';
  const date = [time.getUTCFullYear(), `time.${months[time.getUTCMonth()]}`, time.getUTCDate()];
  const clock = [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()];
  return `time.Date(${[...date, ...clock, time.getUTCMilliseconds() * nanosPerMilli, 'time.Local'].join(', ')})`;
}
