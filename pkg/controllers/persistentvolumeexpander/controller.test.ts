import t from 'tap';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { hasGrown, PersistentVolumeExpander, planExpansion } from '#controllers/persistentvolumeexpander/controller.js';

const claim = (request: string, has: string): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'default', uid: 'u' },
  spec: { volumeName: 'v', resources: { requests: { storage: request } } },
  status: { phase: 'Bound', capacity: { storage: has } },
});
const claimRef = { namespace: 'default', name: 'data', uid: 'u' };
const volume = (spec: PersistentVolume['spec'] = {}): PersistentVolume => ({
  metadata: { name: 'v' },
  spec: { claimRef, csi: { driver: 'd', volumeHandle: 'h' }, ...spec },
});

t.test('the event depends on the volume and the requested size', (t) => {
  const message = /^Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external/;
  t.equal(planExpansion(claim('1Gi', '1024Mi'), volume()), undefined);
  t.equal(planExpansion(claim('1Gi', '2Gi'), volume()), undefined);
  t.match(planExpansion(claim('2Gi', '1Gi'), volume()), { type: 'Warning', message });
  t.match(planExpansion(claim('2Gi', '1Gi'), volume({ fc: {} })), { type: 'Normal', message });
  t.throws(() => planExpansion(claim('2Gi', '1Gi'), undefined), { message: 'failed to get PV "v": not found' });
  t.throws(() => planExpansion(claim('2Gi', '1Gi'), volume({ claimRef: { ...claimRef, uid: 'w' } })), {
    message: 'persistent Volume is not bound to PVC being updated : default/data',
  });
  t.ok(hasGrown(claim('2Gi', '1Gi'), claim('1Gi', '1Gi')));
  t.ok(hasGrown(claim('2Gi', '2Gi'), claim('2Gi', '1Gi')));
  t.notOk(hasGrown(claim('1Gi', '1Gi'), claim('1024Mi', '1Gi')));
  t.end();
});

t.test('a growing claim causes one event', async (t) => {
  const harness = new Harness(t, [persistentvolumeclaims, persistentvolumes]);
  const { api } = harness;
  api.seed<PersistentVolumeClaim>(persistentvolumeclaims, claim('1Gi', '1Gi'));
  api.seed<PersistentVolume>(persistentvolumes, volume());
  await harness.start(new PersistentVolumeExpander(harness.context));
  t.same(harness.events, []);
  const change = (edit: (object: Draft<PersistentVolumeClaim>) => void) => {
    api.change<PersistentVolumeClaim>(persistentvolumeclaims, 'default/data', edit);
    return harness.settled();
  };
  await change((object) => {
    object.spec.resources = { requests: { storage: '3Gi' } };
  });
  t.equal(harness.events.length, 1);
  t.match(harness.events[0], /^Warning ExternalExpanding data: Ignoring the PVC/);
  await change((object) => {
    object.metadata.labels = { a: 'b' };
  });
  await change((object) => {
    object.status = { phase: 'Bound', capacity: { storage: '3Gi' } };
  });
  t.equal(harness.events.length, 1);
  t.same(api.takeWrites(), []);
});
