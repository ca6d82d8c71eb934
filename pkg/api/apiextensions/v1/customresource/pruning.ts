/**
 * Drops what a schema does not know. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/
 * pruning/algorithm.go.
 */

import { objectFields } from '#api/apiextensions/v1/customresourcedefinition/default-validation.js';
import { isMembers, type Structural } from '#api/apiextensions/v1/structural/structural.js';

/** Told of each member that is dropped: `spec.parts[0].colour`. */
export type Dropped = (path: string) => void;

const nobody: Dropped = () => undefined;

/** In place. The members that every object of the API has are left alone. */
export function pruneObject(object: object, schema: Structural, dropped: Dropped = nobody): void {
  pruneMembers(object as Record<string, unknown>, schema, { path: '', isResource: true, dropped });
}

/** True when pruning would take something away. */
export function wouldPrune(object: object, schema: Structural): boolean {
  return hasUnknown(object as Record<string, unknown>, schema, true);
}

interface Place {
  readonly path: string;
  readonly isResource: boolean;
  readonly dropped: Dropped;
}

function pruneValue(value: unknown, schema: Structural | undefined, path: string, dropped: Dropped): void {
  if (Array.isArray(value)) {
    const items = schema?.items;
    for (let i = 0; i < value.length; i++) pruneValue(value[i], items, `${path}[${i}]`, dropped);
  } else if (isMembers(value)) {
    pruneMembers(value, schema, { path, isResource: schema?.isResource === true, dropped });
  }
}

function pruneMembers(
  members: Record<string, unknown>,
  schema: Structural | undefined,
  { path, isResource, dropped }: Place,
): void {
  for (const name of Object.keys(members)) {
    if (isResource && objectFields.has(name)) continue;
    const known = schema?.member(name);
    const at = path === '' ? name : `${path}.${name}`;
    if (known === true) continue;
    if (known !== undefined) pruneValue(members[name], known, at, dropped);
    else if (schema?.preservesUnknown !== true) {
      delete members[name];
      dropped(at);
    }
  }
}

function hasUnknown(value: unknown, schema: Structural | undefined, isResource: boolean): boolean {
  if (Array.isArray(value)) {
    const items = schema?.items;
    return value.some((element) => hasUnknown(element, items, items?.isResource === true));
  }
  if (!isMembers(value)) return false;
  for (const name in value) {
    if (isResource && objectFields.has(name)) continue;
    const known = schema?.member(name);
    if (known === true) continue;
    if (known === undefined) {
      if (schema?.preservesUnknown !== true) return true;
    } else if (hasUnknown(value[name], known, known.isResource)) return true;
  }
  return false;
}
