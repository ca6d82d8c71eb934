/** The object that an update starts from. */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

export interface StartingPoint {
  /** As it is stored. Shared, not to be modified. */
  readonly object: ApiObjectShape;
  /**
   * True: the object is in canonical form and has its defaults, and another walk changes nothing in what the request leaves
   * alone.
   */
  readonly canonical: boolean;
  /** True: the object is the stored one itself, so that an object that is the same would be stored as the same bytes. */
  readonly isStored: boolean;
}

/**
 * What this server has written is canonical. What it has only read may come from other releases and is brought into that
 * form first, as 1.24 does with whatever it reads from its store.
 */
export function startingPoint(
  { codec }: { readonly codec: Codec },
  resource: ServedResource,
  entry: Entry,
  strategy: StrategyContext,
): StartingPoint {
  const object = objectOf(resource, entry);
  if (resource.conversion !== undefined) return { object, canonical: false, isStored: false };
  if (entry.canonical === true) return { object, canonical: true, isStored: true };
  const type = { apiVersion: resource.apiVersion, kind: resource.declaration.kind };
  try {
    const copy = codec.normalize(copyJson(object), type, 'Ignore').object;
    resource.strategy.defaults?.(copy, strategy);
    return { object: copy, canonical: true, isStored: false };
  } catch (error) {
    // Not an object of its kind: whoever writes it anew puts it right.
    if (statusOf(error)?.code === 400) return { object: copyJson(object), canonical: false, isStored: false };
    throw error;
  }
}

/**
 * Lets an object that nobody changes any more share, in place, what it has in common with a canonical starting point: what is
 * the same need not be looked at or written again. Its metadata stay its own, but for what they say about managers.
 */
export function shareUnchanged(object: ApiObjectShape, { object: old, canonical }: StartingPoint): void {
  if (!canonical) return;
  adopt(
    object,
    old,
    Object.keys(object).filter((key) => key !== 'metadata'),
  );
  adopt(object.metadata, old.metadata, ['managedFields']);
}

function adopt(object: object, old: object, keys: readonly string[]): void {
  for (const key of keys) {
    const value: unknown = Reflect.get(old, key);
    if (typeof value === 'object' && value !== null && jsonEqual(Reflect.get(object, key), value)) {
      Reflect.set(object, key, value);
    }
  }
}
