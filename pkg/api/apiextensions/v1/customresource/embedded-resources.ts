/**
 * Objects inside of custom objects. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/
 * objectmeta/validation.go.
 */
import { isMembers, Structural } from '#api/apiextensions/v1/structural/structural.js';
import { validateObjectMeta } from '#api/meta/v1/objectmeta/validation.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidEach, required } from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors, pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Every value that is to be an object of its own says its kind, and has proper metadata. */
export function validateEmbedded(object: object, schema: Structural, dialect: Dialect): FieldFailure[] {
  return within(object, schema, { path: undefined, dialect });
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
    for (const name in value) {
      const member = value[name];
      if (typeof member !== 'object' || member === null) continue;
      const known = schema.member(name);
      if (!(known instanceof Structural)) continue;
      const at = path === undefined ? FieldPath.of(name) : path.child(name);
      addAll(failures, within(member, known, { path: at, dialect }));
    }
  }
  return failures;
}

function validateResource(value: Record<string, unknown>, path: FieldPath, dialect: Dialect): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const name of ['apiVersion', 'kind']) {
    if (typeof value[name] !== 'string' || value[name] === '') {
      failures.push(required(path.child(name), 'must not be empty'));
    }
  }
  const { kind, metadata } = value;
  if (typeof kind === 'string' && kind !== '') {
    addAll(failures, invalidEach(path.child('kind'), kind, dns1035LabelErrors(kind.toLowerCase())));
  }
  if (isMembers(metadata)) {
    const { name = '', generateName = '', namespace = '' } = metadata as ObjectMeta;
    const meta = { ...metadata, name: name === '' && generateName === '' ? 'x' : name || 'x' } as ObjectMeta;
    const rules = { dialect, namespaced: namespace !== '', name: pathSegmentErrors };
    addAll(failures, validateObjectMeta(meta, rules, path.child('metadata')));
  }
  return failures;
}
