/** A resource as the server has it: its declaration with everything that answers requests for it. */
import type { ApiObjectShape } from '#api/object.js';
import type { Strategy } from '#api/strategy.js';
import { badRequest, type Qualified } from '#apimachinery/errors/status.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { type StorableObject, type StoredForm, type StoredVersion, storedForm } from '#storage/layout.js';
import type { Entry, ResourceStorage } from '#storage/resource-storage.js';

/** Several versions of one resource share a stored form; each served version that is not it converts. */
export interface Conversion {
  readonly toStored: (object: ApiObjectShape) => ApiObjectShape;
  readonly fromStored: (stored: ApiObjectShape) => ApiObjectShape;
}

export interface ServedResource {
  readonly declaration: ResourceDeclaration;
  /** Group name on the wire; empty for core. */
  readonly group: string;
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly qualified: Qualified;
  readonly strategy: Strategy;
  readonly storage: ResourceStorage;
  /** Absent where the stored form is the served one. */
  readonly conversion?: Conversion;
  /** `apps/v1/Deployment`: what the stored form is, for the hash that discovery shows. */
  readonly storedAs: string;
  /** Objects of this resource go away by themselves after so long. */
  readonly ttlSeconds?: number;
}

/** The key below the storage's prefix. Throws 400 for what is no name of an object, and would be the key of something else. */
export function keyOf(resource: ServedResource, namespace: string, name: string): string {
  const wrong = pathSegmentErrors(name);
  if (wrong.length > 0) throw badRequest(`invalid resource name ${JSON.stringify(name)}: [${wrong.join(', ')}]`);
  return resource.declaration.namespaced ? `${namespace}/${name}` : name;
}

/** The scope below the storage's prefix that a collection request covers. */
export function scopeOf(resource: ServedResource, namespace: string): string {
  return resource.declaration.namespaced && namespace !== '' ? `${namespace}/` : '';
}

/** The entry as this version's object; shared, not to be modified. */
export function objectOf(resource: ServedResource, entry: Entry): ApiObjectShape {
  const stored = entry.object() as ApiObjectShape;
  return resource.conversion === undefined ? stored : resource.conversion.fromStored(stored);
}

/** The entry as this version's JSON. */
export function jsonOf(resource: ServedResource, entry: Entry): Buffer {
  if (resource.conversion === undefined) return entry.json();
  return entry.encoded(`json:${resource.apiVersion}`, () => Buffer.from(JSON.stringify(objectOf(resource, entry))));
}

/** What to store; `before` is the version that the object was made from, if its bytes can be used again. */
export function formOf(resource: ServedResource, object: ApiObjectShape, before?: StoredVersion): StoredForm {
  return storedForm((resource.conversion?.toStored(object) ?? object) as StorableObject, before);
}

/** The bytes to store. */
export function storedBytes(resource: ServedResource, object: ApiObjectShape): Buffer {
  return formOf(resource, object).bytes;
}
