/** The object that an update starts from. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { andThen, inSteps, type MaybePromise, type Pause } from '#apimachinery/async/steps.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { objectSteps, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

export interface UpdateBase {
  /** The stored object. Shared: do not modify. */
  readonly object: ApiObjectShape;
  /** True: the object is canonical and has its defaults, so parts that the request leaves unchanged need no second pass. */
  readonly canonical: boolean;
  /** True: this is the stored object itself, so an equal object would be stored as the same bytes. */
  readonly isStored: boolean;
}

/**
 * Objects that this server wrote are canonical. Other objects may come from other releases and are normalized first; 1.24
 * normalizes every object that it reads.
 */
export function updateBase(
  { codec }: { readonly codec: Codec },
  resource: ServedResource,
  entry: Entry,
  { rules, pause }: { readonly rules: StrategyContext; readonly pause: Pause },
): MaybePromise<UpdateBase> {
  if (resource.conversion !== undefined) {
    const converted = inSteps(objectSteps(resource, entry), pause);
    return andThen(converted, (object) => ({ object, canonical: false, isStored: false }));
  }
  const object = entry.object() as ApiObjectShape;
  if (entry.canonical === true) return { object, canonical: true, isStored: true };
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  try {
    const copy = codec.normalize(copyJson(object), type, 'Ignore').object;
    resource.strategy.defaults?.(copy, rules);
    return { object: copy, canonical: true, isStored: false };
  } catch (error) {
    // The stored object is invalid for its kind: the update replaces it.
    if (statusOf(error)?.code === 400) return { object: copyJson(object), canonical: false, isStored: false };
    throw error;
  }
}

/**
 * Makes a finished object share, in place, its unchanged parts with a canonical base, so that they are not compared or
 * encoded again. Of the metadata only managedFields are shared.
 */
export function shareUnchanged(object: ApiObjectShape, { object: old, canonical }: UpdateBase): void {
  if (!canonical) return;
  shareEqual(
    object,
    old,
    Object.keys(object).filter((key) => key !== 'metadata'),
  );
  shareEqual(object.metadata, old.metadata, ['managedFields']);
}

function shareEqual(object: object, old: object, keys: readonly string[]): void {
  for (const key of keys) {
    const value: unknown = Reflect.get(old, key);
    if (typeof value === 'object' && value !== null && jsonEqual(Reflect.get(object, key), value)) {
      Reflect.set(object, key, value);
    }
  }
}
