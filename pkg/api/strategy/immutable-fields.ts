/** Fields that are declared immutable. */
import { goFieldsOf } from '#api/go/go-fields.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { cut } from '#apimachinery/errors/message-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { goFieldSyntax } from '#apimachinery/spew/syntax.js';
import { GoValue, invalidValue, none } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** The path to such a field: field names, and the message that contains the last one. */
export interface ImmutablePath {
  readonly names: readonly [string, ...string[]];
  readonly owner: TypeInfo;
}

/** The immutable fields of a kind by number. None is inside a list, whose elements may be added and removed. */
export function immutablePaths(type: TypeInfo, within: readonly TypeInfo[] = []): readonly ImmutablePath[] {
  if (within.includes(type)) return [];
  return [...type.byName.values()].flatMap((field): readonly ImmutablePath[] => {
    if (field.immutable === true) return [{ names: [field.name], owner: type }];
    if (field.container !== 'single' || field.type === undefined) return [];
    return immutablePaths(field.type, [...within, type]).map(({ names, owner }) => ({
      names: [field.name, ...names],
      owner,
    }));
  });
}

/** `field is immutable` for each changed field. */
export function validateImmutablePaths(
  paths: readonly ImmutablePath[],
  object: object,
  old: object,
): readonly FieldFailure[] {
  if (paths.length === 0) return none;
  const failures: FieldFailure[] = [];
  for (const { names, owner } of paths) {
    const value = at(object, names);
    if (semanticEqual(value, at(old, names))) continue;
    failures.push(changedField(owner, { name: names.at(-1) ?? '', value }, FieldPath.of(...names)));
  }
  return failures;
}

/** `field is immutable` for a changed field of the message, with the new value. */
export function changedField(
  owner: TypeInfo,
  { name, value }: { readonly name: string; readonly value: unknown },
  path: FieldPath,
): FieldFailure {
  return invalidValue(path, shownAs(owner, name, value), 'field is immutable');
}

/** An unset field is shown as Go's zero value, unless it is a pointer. */
function shownAs(owner: TypeInfo, name: string, value: unknown): unknown {
  const field = owner.byName.get(name);
  if (field === undefined) throw new RangeError(`${owner.name} has no ${name}`);
  const { container, pointer, type, scalar } = field;
  if (container === 'single') {
    if ((pointer || type?.shape === 'rawJSON') && value === undefined) return undefined;
    if (type === undefined) return value ?? (scalar === 'string' ? '' : scalar === 'bool' ? false : 0);
    if (type.shape === 'time' || type.shape === 'microTime') return new GoValue(() => timeText(value));
    if (type.shape === 'rawJSON') return new GoValue(() => rawText(value));
  }
  // A pointer is shown as the value itself.
  return new GoValue(() => cut(goFieldSyntax(owner, { ...field, pointer: false }, value, goFieldsOf)));
}

/** The format of Go's times. */
function timeText(value: unknown): string {
  if (typeof value !== 'string') return '0001-01-01 00:00:00 +0000 UTC';
  const fraction = /\.\d*[1-9](?=0*Z$)/.exec(value)?.[0] ?? '';
  return `${value.slice(0, 10)} ${value.slice(11, 19)}${fraction} +0000 UTC`;
}

/** JSON that 1.24 stores as bytes, with keys in alphabetical order, as after a patch. */
function rawText(value: unknown): string {
  const bytes = [...Buffer.from(toJSONText(inOrder(value)))].map((byte) => `0x${byte.toString(16)}`);
  const raw = `{${bytes.join(', ')}}`;
  const type = 'TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}';
  return cut(`runtime.Unknown{${type}, Raw:[]uint8${raw}, ContentEncoding:"", ContentType:"application/json"}`);
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, inOrder(member)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function at(object: object, path: ImmutablePath['names']): unknown {
  return path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    object,
  );
}
