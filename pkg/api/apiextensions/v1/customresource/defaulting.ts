/**
 * Sets defaults of a schema for absent members. A null that is not allowed counts as absent. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/{algorithm,prunenulls}.go.
 */

import { isMembers, Structural } from '#api/apiextensions/v1/structural/structural.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { setMember } from '#apimachinery/collections/set-member.js';

/** Modifies the value in place. `nulls`: leaves invalid nulls to validation instead of dropping them. */
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
    const property = schema.member(name);
    if (!(property instanceof Structural)) continue;
    if (isUnwantedNull(members[name], property)) {
      if (property.default === undefined) {
        if (nulls === undefined) delete members[name];
        continue;
      }
      setMember(members, name, copyJson(property.default));
    }
    fillCustomDefaults(members[name], property, nulls);
  }
}

/** True if there is a default to set or a null to drop. */
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
    const property = schema.member(name);
    if (!(property instanceof Structural)) continue;
    if (isUnwantedNull(value[name], property) || lacksDefaults(value[name], property)) return true;
  }
  return false;
}

function isUnwantedNull(value: unknown, schema: Structural): boolean {
  return value === null && !schema.nullable;
}
