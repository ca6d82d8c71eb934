/** Code that the compiler must refuse: a line that it accepts fails to compile. */
import t from 'tap';
import type { ConfigMap, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft, Replaceable } from '#apimachinery/draft.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { Informer, Lister } from '#client/informer/informer.js';

/** Never called, only compiled. */
const refused = [
  (pods: Lister<Pod>): void => {
    const pod = pods.get('a/b');
    if (pod === undefined) return;
    // @ts-expect-error: objects of a cache are shared
    pod.metadata.name = 'c';
    // @ts-expect-error: including their members
    pod.spec.containers.push({ name: 'c' });
    // @ts-expect-error: including maps
    if (pod.metadata.labels !== undefined) pod.metadata.labels['a'] = 'b';
    // @ts-expect-error: only a copy makes a draft
    const draft: Draft<Pod> = pod;
    copyJson(pod).spec.containers.push(...draft.spec.containers);
  },
  (maps: Informer<ConfigMap>): void => {
    maps.addHandler({
      onUpdate(map, old) {
        // @ts-expect-error: handlers get the cache's objects
        map.data = {};
        // @ts-expect-error: the last state as well
        delete old.metadata.finalizers;
      },
    });
  },
  (pod: Replaceable<Pod>, other: Pod): void => {
    pod.spec = other.spec;
    // @ts-expect-error: the object may be replaced but not changed
    pod.spec.nodeName = 'n';
  },
];

/** A draft is writable; the object beside it is not. */
const strategy: Strategy = {
  prepareForUpdate(object, old) {
    object.metadata.generation = 2;
    // @ts-expect-error: the stored object belongs to the cache
    old.metadata.generation = 2;
  },
  validateCreate(object) {
    // @ts-expect-error: validation must not change the object
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
    // @ts-expect-error: the second pass only reads
    if (object !== undefined) object.metadata.name = 'a';
  },
};

t.test('drafts are writable', async (t) => {
  const given: ApiObjectShape = { metadata: { name: 'a', finalizers: ['x'] } };
  const draft = copyJson(given);
  strategy.prepareForUpdate?.(draft, { metadata: {} }, undefined as never);
  draft.metadata.finalizers?.push('y');
  t.same(given, { metadata: { name: 'a', finalizers: ['x'] } });
  t.same(draft, { metadata: { name: 'a', finalizers: ['x', 'y'], generation: 2 } });
  t.equal(plugin.name, 'Example');
  t.equal(refused.length, 3);
});
