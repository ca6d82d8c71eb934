/** What the compiler refuses. A line that it does not refuse any more fails to compile. */
import t from 'tap';
import type { ConfigMap, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { Informer, Lister } from '#client/informer/informer.js';

/** Never called: they are there to be compiled. */
const refused = [
  (pods: Lister<Pod>): void => {
    const pod = pods.get('a/b');
    if (pod === undefined) return;
    // @ts-expect-error: a cache's object is shared
    pod.metadata.name = 'c';
    // @ts-expect-error: with all that is in it
    pod.spec.containers.push({ name: 'c' });
    // @ts-expect-error: maps too
    if (pod.metadata.labels !== undefined) pod.metadata.labels['a'] = 'b';
    // @ts-expect-error: no draft is made of it but by a copy
    const draft: Draft<Pod> = pod;
    copyJson(pod).spec.containers.push(...draft.spec.containers);
  },
  (maps: Informer<ConfigMap>): void => {
    maps.addHandler({
      onUpdate(map, old) {
        // @ts-expect-error: handlers see what the cache has
        map.data = {};
        // @ts-expect-error: the last state too
        delete old.metadata.finalizers;
      },
    });
  },
  (pod: Replaceable<Pod>, other: Pod): void => {
    pod.spec = other.spec;
    // @ts-expect-error: it may be replaced, and not be written into
    pod.spec.nodeName = 'n';
  },
];

/** What may be written, and what is beside it and may not. */
const strategy: Strategy = {
  prepareForUpdate(object, old) {
    object.metadata.generation = 2;
    // @ts-expect-error: the stored object belongs to the cache
    old.metadata.generation = 2;
  },
  validateCreate(object) {
    // @ts-expect-error: who validates an object does not change it
    object.metadata.generation = 2;
    return [];
  },
};
const plugin: AdmissionPlugin = {
  name: 'Example',
  handles: () => true,
  admit({ object, oldObject }) {
    if (object?.metadata !== undefined) object.metadata.name = 'a';
    // @ts-expect-error: the stored object belongs to the cache
    if (oldObject !== undefined) oldObject.metadata.name = 'a';
  },
  validate({ object }) {
    // @ts-expect-error: the second pass only looks
    if (object !== undefined) object.metadata.name = 'a';
  },
};

t.test('who is given a draft can write into it', async (t) => {
  const given: ApiObjectShape = { metadata: { name: 'a', finalizers: ['x'] } };
  const draft = copyJson(given);
  strategy.prepareForUpdate?.(draft, { metadata: {} }, undefined as never);
  draft.metadata.finalizers?.push('y');
  t.same(given, { metadata: { name: 'a', finalizers: ['x'] } });
  t.same(draft, { metadata: { name: 'a', finalizers: ['x', 'y'], generation: 2 } });
  t.equal(plugin.name, 'Example');
  t.equal(refused.length, 3);
});
