/**
 * Fills in what a schema says of members that nobody set. A null where none may be counts as not set. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/{algorithm,prunenulls}.go.
 */

import { isMembers, Structural } from '#api/apiextensions/v1/structural/structural.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { setMember } from '#apimachinery/collections/set-member.js';

/** In place. `nulls` that are not allowed go where the value was decoded, and stay to be refused where it was applied. */
export function fillCustomDefaults(value: unknown, schema: Structural, nulls?: 'keep nulls'): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (let i = 0; i < value.length; i++) {
      if (isUnwantedNull(value[i], items) && items.default !== undefined) value[i] = copyJson(items.default);
      fillCustomDefaults(value[i], items, nulls);
    }
  } else if (isMembers(value)) fillMembers(value, schema, nulls);
}

function fillMembers(members: Record<string, unknown>, schema: Structural, nulls: 'keep nulls' | undefined): void {
  if (schema.hasDefaults) {
    for (const [name, property] of schema.properties) {
      if (property.default === undefined) continue;
      if (!Object.hasOwn(members, name) || isUnwantedNull(members[name], property)) {
        setMember(members, name, copyJson(property.default));
      }
    }
  }
  for (const name of Object.keys(members)) {
    const known = schema.member(name);
    if (!(known instanceof Structural)) continue;
    if (isUnwantedNull(members[name], known)) {
      if (known.default === undefined) {
        if (nulls === undefined) delete members[name];
        continue;
      }
      setMember(members, name, copyJson(known.default));
    }
    fillCustomDefaults(members[name], known, nulls);
  }
}

/** True when there is something to fill in, or a null to take out. */
export function lacksDefaults(value: unknown, schema: Structural): boolean {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return false;
    return value.some(
      (element) => (isUnwantedNull(element, items) && items.default !== undefined) || lacksDefaults(element, items),
    );
  }
  if (!isMembers(value)) return false;
  if (schema.hasDefaults) {
    for (const [name, property] of schema.properties) {
      if (property.default !== undefined && !Object.hasOwn(value, name)) return true;
    }
  }
  for (const name in value) {
    const known = schema.member(name);
    if (!(known instanceof Structural)) continue;
    if (isUnwantedNull(value[name], known) || lacksDefaults(value[name], known)) return true;
  }
  return false;
}

function isUnwantedNull(value: unknown, schema: Structural): boolean {
  return value === null && !schema.nullable;
}
