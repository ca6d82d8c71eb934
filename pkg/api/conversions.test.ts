/** Random objects of every converted version survive a round trip through the stored form. */

import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { ApiObjectShape } from '#api/meta/object.js';
import { schemeFor } from '#api/scheme.js';
import { strategyFor } from '#api/strategies.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const rounds = 200;

/**
 * Versions that can express the same state in two ways, one of which is read back: autoscalers without a metric scale
 * by CPU, and the node name of an endpoint is also one of its labels.
 */
const settles: ReadonlySet<string> = new Set(['autoscaling/v1', 'discovery/v1beta1']);

for (const dialect of [orchDialect, kubernetesDialect]) {
  const scheme = schemeFor(dialect);
  const codec = new ObjectCodec(scheme);

  /** The object as decoding leaves it in that version. */
  const canonical = (object: ApiObjectShape, apiVersion: string, kind: string): ApiObjectShape => {
    const expected = scheme.kind(apiVersion, kind);
    if (expected === undefined) throw new RangeError(`${apiVersion} has no ${kind}`);
    const copy: unknown = structuredClone(object);
    return codec.decodeValue(copy, { expected, validation: 'Strict' }).object as unknown as ApiObjectShape;
  };

  const storedOf = ({ declaration }: ResourceInfo): string => {
    const { group, storedAs } = declaration;
    return dialect.apiVersion(storedAs?.group ?? group, storedAs?.version ?? '');
  };

  t.test(`versions in the ${dialect.name} dialect`, async (t) => {
    const converted = scheme.resources.filter(({ declaration }) => declaration.storedAs !== undefined);
    t.equal(converted.length, 12);
    for (const info of converted) {
      const { declaration, apiVersion, type } = info;
      const { kind, resource } = declaration;
      const { conversion } = strategyFor(declaration);
      if (conversion === undefined) throw new RangeError(`${apiVersion} ${resource} have no conversion`);
      const toStored = (object: ApiObjectShape) => canonical(conversion.toStored(object, scheme), storedOf(info), kind);
      const back = (object: ApiObjectShape) => canonical(conversion.fromStored(object, scheme), apiVersion, kind);
      const objects = new RandomObjects(seededRandom(24));
      const settling = settles.has(`${declaration.group}/${declaration.version}`);
      await t.test(`${apiVersion} ${resource}`, async (t) => {
        for (let round = 0; round < rounds; round++) {
          const written = { ...(objects.object(type) as unknown as ApiObjectShape), apiVersion, kind };
          const random = canonical(written, apiVersion, kind);
          const given = settling ? back(toStored(random)) : random;
          const before = structuredClone(given);
          const stored = toStored(given);
          const storedBefore = structuredClone(stored);
          const again = back(stored);
          const wrong = [
            isDeepStrictEqual(given, before) ? [] : 'the object was changed',
            isDeepStrictEqual(stored, storedBefore) ? [] : 'the stored object was changed',
            isDeepStrictEqual(again, given) ? [] : { lost: again, given },
            isDeepStrictEqual(toStored(again), stored) ? [] : { storedAs: toStored(again), before: stored },
          ].flat();
          if (wrong.length > 0) {
            t.fail(`round ${round}`, { wrong });
            return;
          }
        }
        t.pass('nothing is lost');
      });
    }
  });
}
