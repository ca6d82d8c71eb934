/**
 * How the registry gets from stored objects to those of a served version and back: in the process, as built-in kinds do,
 * or by asking somebody else, who takes his time and may fail.
 */
import type { Conversion } from '#api/conversion.js';
import type { ApiObjectShape } from '#api/object.js';
import type { Strategy, StrategyContext } from '#api/strategy.js';
import { copyJson } from '#apimachinery/copy.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { Codec } from '#apiserver/resources/codec.js';

/** The stored form of a resource. */
export interface StoredVersionOf {
  /** `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: TypeInfo;
  readonly strategy: Strategy;
}

export interface InProcessConversion {
  readonly kind: 'in process';
  toStored(object: ApiObjectShape): ApiObjectShape;
  fromStored(stored: ApiObjectShape): ApiObjectShape;
}

/** Both reject with the error that the request is answered with. */
export interface RemoteConversion {
  readonly kind: 'remote';
  toStored(object: ApiObjectShape, signal: AbortSignal): Promise<ApiObjectShape>;
  /** All that a request needs, at once: as many objects as there were given, in their order. */
  fromStored(stored: readonly ApiObjectShape[], signal: AbortSignal): Promise<readonly ApiObjectShape[]>;
}

export type ServedConversion = InProcessConversion | RemoteConversion;

/** Objects are stored as if they had come in the stored version: in its canonical form, with its defaults. */
export function inProcess(
  conversion: Conversion,
  stored: StoredVersionOf,
  { codec, dialect, gate }: { readonly codec: Codec } & Pick<StrategyContext, 'dialect' | 'gate'>,
): InProcessConversion {
  return {
    kind: 'in process',
    fromStored: (object) => conversion.fromStored(object, dialect),
    toStored(object) {
      // Both work in place, and parts of the object may be those of a cached one.
      const own = copyJson(conversion.toStored(object, dialect));
      const { object: canonical } = codec.normalize(own, stored, 'Ignore');
      stored.strategy.defaults?.(canonical, { dialect, gate, now: 0 });
      return canonical;
    },
  };
}
