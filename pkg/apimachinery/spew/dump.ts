/**
 * Formats an API object like Go's spew library formats the struct of 1.24 (`%#v`, sorted keys, no methods). Release
 * 1.24 hashes this text. Empty lists and maps are nil, as after decoding Protobuf.
 */

import { toJSONText } from '#apimachinery/json-text.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import { goQuantity } from '#apimachinery/spew/quantity.js';

export interface GoField {
  readonly field: FieldInfo;
  /** The Go name of the field: `ObjectMeta`. */
  readonly name: string;
}

/** The fields of a struct in Go's order. */
export type GoFields = (type: TypeInfo) => readonly GoField[];

const nil = '<nil>';
const zeroTime = '{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}';

/** The dump of a value, which may be absent. Times lack the location, which in 1.24 depends on the machine. Pure. */
export function goDump(type: TypeInfo, value: unknown, fieldsOf: GoFields): string {
  return `(${type.goName})${messageText(type, value, fieldsOf)}`;
}

function messageText(type: TypeInfo, value: unknown, fieldsOf: GoFields): string {
  switch (type.shape) {
    case 'struct':
      return structText(type, value, fieldsOf);
    case 'quantity':
      return goQuantity(typeof value === 'string' ? value : undefined);
    case 'intOrString':
      return intOrStringText(value);
    case 'time':
    case 'microTime':
      return timeText(value);
    case 'rawJSON':
      return `{Raw:([]uint8)${value === undefined ? nil : `[${Buffer.from(toJSONText(value)).join(' ')}]`}}`;
    default:
      throw new RangeError(`${type.name} is not dumped`);
  }
}

/** Members of inline messages are members of the outer object. */
function structText(type: TypeInfo, value: unknown, fieldsOf: GoFields): string {
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  const members = fieldsOf(type).map(({ field, name }) => {
    const member = field.inline ? object : object[field.name];
    return `${name}:${fieldText(field, member, fieldsOf)}`;
  });
  return `{${members.join(' ')}}`;
}

function fieldText(field: FieldInfo, value: unknown, fieldsOf: GoFields): string {
  const goType = goTypeOf(field);
  const text = (element: unknown) => elementText(field, element, fieldsOf);
  if (field.container === 'list') {
    const list = Array.isArray(value) ? (value as readonly unknown[]) : [];
    return `(${goType})${list.length === 0 ? nil : `[${list.map(text).join(' ')}]`}`;
  }
  if (field.container === 'map') {
    const entries = Object.entries(value ?? {}).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const texts = entries.map(([key, element]) => `${key}:${text(element)}`);
    return `(${goType})${texts.length === 0 ? nil : `map[${texts.join(' ')}]`}`;
  }
  return `(${goType})${field.pointer && (value ?? undefined) === undefined ? nil : text(value)}`;
}

function elementText({ type, scalar }: FieldInfo, value: unknown, fieldsOf: GoFields): string {
  if (type !== undefined) return messageText(type, value, fieldsOf);
  return String(value ?? (scalar === 'string' ? '' : scalar === 'bool' ? false : 0));
}

/** The name in Go's reflection; named map types have it in the schema. */
function goTypeOf({ container, pointer, goType, type, scalar, keyScalar }: FieldInfo): string {
  const element = goType ?? type?.goName ?? goScalar(scalar);
  if (container === 'list') return `[]${element}`;
  if (container === 'map') return goType ?? `map[${keyScalar}]${element}`;
  return pointer ? `*${element}` : element;
}

function goScalar(scalar: Scalar | undefined): string {
  if (scalar === undefined || scalar === 'bytes' || scalar === 'float' || scalar === 'double') {
    throw new RangeError(`a field of ${scalar} is not dumped`);
  }
  return scalar;
}

function intOrStringText(value: unknown): string {
  const isText = typeof value === 'string';
  const [kind, number, text] = [isText ? 1 : 0, isText ? 0 : (value ?? 0), isText ? value : ''];
  return `{Type:(intstr.Type)${kind} IntVal:(int32)${number} StrVal:(string)${text}}`;
}

/** Seconds between January 1 of year 1 and of 1970. */
const internalSeconds = 62_135_596_800;

function timeText(value: unknown): string {
  if (typeof value !== 'string') return zeroTime;
  const seconds = Math.floor(Date.parse(value) / 1000) + internalSeconds;
  return zeroTime.replace('ext:(int64)0', `ext:(int64)${seconds}`);
}
