/** API objects embedded in custom objects. Source: 1.24, …/pkg/apiserver/schema/objectmeta/validation.go. */
import { isMembers, Structural } from '#api/apiextensions/v1/structural/structural.js';
import { validateObjectMeta } from '#api/meta/v1/objectmeta/validation.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue, required } from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors, pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export interface MemberWithin {
  readonly member: object;
  readonly schema: Structural;
  readonly path: FieldPath;
}

/** Members of an object that are objects or lists with a schema. `path`: of the object; undefined at the root. */
export function* membersWithin(
  object: Readonly<Record<string, unknown>>,
  schema: Structural,
  path: FieldPath | undefined,
): Generator<MemberWithin> {
  for (const name in object) {
    const member = object[name];
    if (typeof member !== 'object' || member === null) continue;
    const memberSchema = schema.member(name);
    if (!(memberSchema instanceof Structural)) continue;
    const isKey = !schema.properties.has(name);
    const at = path === undefined ? FieldPath.of(name) : isKey ? path.key(name) : path.child(name);
    yield { member, schema: memberSchema, path: at };
  }
}

/** Every embedded object must have a kind and valid metadata. `path`: of the containing member. */
export function validateEmbedded(
  value: unknown,
  schema: Structural,
  dialect: Dialect,
  path?: FieldPath,
): FieldFailure[] {
  return within(value, schema, { path, dialect });
}

interface Place {
  readonly path: FieldPath | undefined;
  readonly dialect: Dialect;
}

function within(value: unknown, schema: Structural, place: Place): FieldFailure[] {
  const { path, dialect } = place;
  const failures: FieldFailure[] = [];
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return failures;
    value.forEach((element, i) => {
      addAll(failures, within(element, items, { path: (path ?? FieldPath.of()).index(i), dialect }));
    });
  } else if (isMembers(value)) {
    if (schema.isResource && path !== undefined) addAll(failures, validateResource(value, path, dialect));
    for (const nested of membersWithin(value, schema, path))
      addAll(failures, within(nested.member, nested.schema, { path: nested.path, dialect }));
  }
  return failures;
}

function validateResource(value: Record<string, unknown>, path: FieldPath, dialect: Dialect): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const name of ['apiVersion', 'kind']) {
    const text = value[name];
    if (text === undefined) failures.push(required(path.child(name), 'must not be empty'));
    else if (typeof text !== 'string') failures.push(invalidValue(path.child(name), text, 'must be a string'));
    else if (text === '') failures.push(invalidValue(path.child(name), text, 'must not be empty'));
  }
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    failures.push(invalidValue(path.child('apiVersion'), apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  }
  const kindErrors = typeof kind === 'string' && kind !== '' ? dns1035LabelErrors(kind.toLowerCase()) : [];
  if (kindErrors.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${kindErrors.join(',')}`;
    failures.push(invalidValue(path.child('kind'), kind, why));
  }
  if (isMembers(metadata)) {
    const { name = '', namespace = '' } = metadata as ObjectMeta;
    // A missing name is allowed.
    const meta = { ...metadata, name: name || 'fakename' } as ObjectMeta;
    const rules = { dialect, namespaced: namespace !== '', name: pathSegmentErrors };
    addAll(failures, validateObjectMeta(meta, rules, path.child('metadata')));
  }
  return failures;
}
