/**
 * How the registry gets from stored objects to those of a served version and back: in the process, as built-in kinds do,
 * or by asking somebody else, who takes his time and may fail.
 */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import type { Steps } from '#apimachinery/async/steps.js';
import { copyJsonSteps } from '#apimachinery/collections/copy.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { Entry } from '#storage/resource-storage.js';

/** The stored form of a resource. */
export interface StoredVersionOf {
  /** `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: TypeInfo;
  readonly strategy: Strategy;
}

interface Sparing {
  /** True for entries that it would not change: they are served as they are. Absent: it is always asked to convert. */
  isAsStored?(entry: Entry): boolean;
}

export interface InProcessConversion extends Sparing {
  readonly kind: 'in process';
  toStored(object: ApiObjectShape): Steps<ApiObjectShape>;
  fromStored(stored: ApiObjectShape): ApiObjectShape;
}

/** All reject with the error that the request is answered with. */
export interface RemoteConversion extends Sparing {
  readonly kind: 'remote';
  toStored(object: ApiObjectShape, signal: AbortSignal): Promise<ApiObjectShape>;
  /** All that a request needs, at once: as many objects as there were given, in their order. */
  fromStored(stored: readonly ApiObjectShape[], signal: AbortSignal): Promise<readonly ApiObjectShape[]>;
  /** From any version to any other, for who manages what in which of them; each object says its own. */
  between(
    objects: readonly ApiObjectShape[],
    apiVersion: string,
    signal: AbortSignal,
  ): Promise<readonly ApiObjectShape[]>;
}

export type ServedConversion = InProcessConversion | RemoteConversion;

/** Objects are stored as if they had come in the stored version: in its canonical form, with its defaults. */
export function inProcess(
  conversion: Conversion,
  stored: StoredVersionOf,
  { codec, gate }: { readonly codec: Codec } & Pick<StrategyContext, 'gate'>,
): InProcessConversion {
  const { scheme } = codec;
  return {
    kind: 'in process',
    fromStored: (object) => conversion.fromStored(object, scheme),
    *toStored(object) {
      const converted = conversion.toStored(object, scheme);
      yield;
      // Both work in place, and parts of the object may be those of a cached one.
      const own = yield* copyJsonSteps(converted);
      yield;
      // Metadata are the same in all versions.
      const settled = new Set(Object.values(own.metadata).filter((part) => typeof part === 'object'));
      const { object: canonical } = codec.normalize(own, stored, 'Ignore', settled);
      yield;
      stored.strategy.defaults?.(canonical, { dialect: scheme.dialect, scheme, monotonic: () => 0, gate, now: 0 });
      return canonical;
    },
  };
}
