import t from 'tap';
import type { PersistentVolumeClaim, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { isClaimUsed, mayRelease } from '#controllers/pvcprotection/plan.js';

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pod', controller: true };
const claim = (metadata: ObjectMeta = {}): PersistentVolumeClaim => ({
  metadata: { name: 'p-data', namespace: 'default', ...metadata },
  spec: {},
});
const named = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'p-data' } }] };
const ephemeral = { volumes: [{ name: 'data', ephemeral: {} }] };
const pod = (spec: Partial<PodSpec>, metadata: ObjectMeta = {}, phase = 'Running'): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'pod', ...metadata },
  spec: { containers: [], nodeName: 'n1', ...spec },
  status: { phase },
});
const over = { deletionTimestamp: '2022-05-03T00:00:00Z', deletionGracePeriodSeconds: 0 };

t.test('whether a pod uses a claim', (t) => {
  const mine = claim({ ownerReferences: [owner] });
  const rows: [name: string, claim: PersistentVolumeClaim, pod: Pod, used: boolean][] = [
    ['by its name', claim(), pod(named), true],
    ['in another namespace', claim(), pod(named, { namespace: 'other' }), false],
    ['bound to no node', claim(), pod({ ...named, nodeName: '' }), false],
    ['ended', claim(), pod(named, {}, 'Succeeded'), true],
    ['ended and held by finalizers', claim(), pod(named, over), true],
    ['another claim', claim({ name: 'other' }), pod(named), false],
    ['an ephemeral volume', mine, pod(ephemeral), true],
    ['an ephemeral volume of another pod', mine, pod(ephemeral, { uid: 'next' }), false],
    ['a claim that only has the name of an ephemeral volume', claim(), pod(ephemeral), false],
    ['an ephemeral volume of a pod that is shut down', mine, pod(ephemeral, over), false],
    ['an ephemeral volume of a pod that ends', mine, pod(ephemeral, { ...over, deletionGracePeriodSeconds: 30 }), true],
    ['none at all', claim(), pod({}), false],
  ];
  for (const [name, given, by, used] of rows) t.equal(isClaimUsed(given, [pod({}), by]), used, name);
  t.end();
});

t.test('whether a change of a pod may let claims go', (t) => {
  t.notOk(mayRelease(pod(named)));
  t.ok(mayRelease(pod({ ...named, nodeName: '' })));
  t.ok(mayRelease(pod(named, {}, 'Failed')));
  t.ok(mayRelease(pod(named, over)));
  t.end();
});
