/**
 * Conversion between stored objects and a served version: in the process for built-in kinds, or by a webhook, which takes
 * time and may fail.
 */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import type { Pause, Steps } from '#apimachinery/async/steps.js';
import { copyJsonSteps } from '#apimachinery/collections/copy.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { LargeViews } from '#apiserver/resources/large-views.js';
import type { Entry } from '#storage/resource-storage.js';

/** The stored form of a resource. */
export interface StoredVersionOf {
  /** For example `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: TypeInfo;
  readonly strategy: Strategy;
}

interface ConversionShortcut {
  /** True for entries that the conversion would not change: they are served unchanged. Absent: always convert. */
  isAsStored?(entry: Entry): boolean;
  /** Keeps JSON that is larger than what is stored; absent: each entry keeps its own. */
  readonly views?: LargeViews;
}

export interface InProcessConversion extends ConversionShortcut {
  readonly kind: 'in process';
  toStored(object: ApiObjectShape): Steps<ApiObjectShape>;
  /** Throws 500 for an object that would grow too large; `deletion`: such an object stays without what makes it grow. */
  fromStored(stored: ApiObjectShape, use?: 'deletion'): Steps<ApiObjectShape>;
  /** The converted metadata alone. Absent: convert the object. */
  metadataOf?(stored: ApiObjectShape): ApiObjectShape['metadata'];
  /** Throws what `fromStored` would throw for an object that grows too large, without converting it. */
  requireBounded?(entry: Entry): void;
}

/** All methods reject with the error for the client. */
export interface RemoteConversion extends ConversionShortcut {
  readonly kind: 'remote';
  toStored(object: ApiObjectShape, signal: AbortSignal): Promise<ApiObjectShape>;
  /** Converts all objects of a request at once; returns as many, in the same order. */
  fromStored(stored: readonly ApiObjectShape[], signal: AbortSignal): Promise<readonly ApiObjectShape[]>;
  /** Converts from any version, which each object names, to another; used for field ownership. */
  between(
    objects: readonly ApiObjectShape[],
    apiVersion: string,
    signal: AbortSignal,
  ): Promise<readonly ApiObjectShape[]>;
  /** Throws 500 if the conversion added that many bytes to one object, or to all objects of a request. */
  requireBounded(addedBytes: number, totalBytes: number): void;
  readonly pause: Pause;
}

export type ServedConversion = InProcessConversion | RemoteConversion;

/** Converts in this process. Objects are stored as if received in the stored version: canonical, with its defaults. */
export function inProcess(
  conversion: Conversion,
  stored: StoredVersionOf,
  { codec, gate }: { readonly codec: Codec } & Pick<StrategyContext, 'gate'>,
): InProcessConversion {
  const { scheme } = codec;
  return {
    kind: 'in process',
    *fromStored(object) {
      yield;
      return conversion.fromStored(object, scheme);
    },
    *toStored(object) {
      const converted = conversion.toStored(object, scheme);
      yield;
      // Both steps work in place, and the object may share parts with a cached one.
      const copy = yield* copyJsonSteps(converted);
      yield;
      // Metadata are the same in all versions.
      const canonicalParts = new Set(Object.values(copy.metadata).filter((part) => typeof part === 'object'));
      const { object: canonical } = codec.normalize(copy, stored, 'Ignore', canonicalParts);
      yield;
      stored.strategy.defaults?.(canonical, { dialect: scheme.dialect, scheme, monotonic: () => 0, gate, now: 0 });
      return canonical;
    },
  };
}
