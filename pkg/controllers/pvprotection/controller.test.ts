import t, { type Test } from 'tap';
import { persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { PVProtectionController, planVolume } from '#controllers/pvprotection/controller.js';

const deletionTimestamp = '2022-05-03T00:00:00Z';
const volume = (phase: string, finalizers: string[], going = false): PersistentVolume => ({
  metadata: { name: 'v', finalizers, ...(going ? { deletionTimestamp } : {}) },
  spec: {},
  status: { phase },
});

t.test('the finalizer is added, and removed from unbound volumes in deletion', (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const mine = `${dialect.labelDomain}/pv-protection`;
    const rows: [name: string, given: PersistentVolume, finalizers: string[] | undefined][] = [
      ['there', volume('Available', [mine]), undefined],
      ['missing', volume('Available', ['a']), ['a', mine]],
      ['in deletion, bound', volume('Bound', [mine], true), undefined],
      ['in deletion, available', volume('Available', ['a', mine], true), ['a']],
      ['in deletion, released', volume('Released', [mine], true), []],
      ['in deletion without the finalizer', volume('Bound', ['a'], true), undefined],
    ];
    for (const [name, given, want] of rows) t.same(planVolume(given, dialect)?.metadata.finalizers, want, name);
  }
  t.end();
});

function setUp(t: Test, given: PersistentVolume) {
  const harness = new Harness(t, [persistentvolumes]);
  harness.api.seed(persistentvolumes, given);
  const start = () => harness.start(new PVProtectionController(harness.context));
  return { harness, api: harness.api, start, now: () => harness.api.get(persistentvolumes, 'v') };
}

t.test('a volume is released when it is no longer bound', async (t) => {
  const { harness, api, start, now } = setUp(t, volume('Bound', []));
  await start();
  t.same(now()?.metadata.finalizers, ['orch.io/pv-protection']);
  api.change<PersistentVolume>(persistentvolumes, 'v', (each) => {
    each.metadata.deletionTimestamp = deletionTimestamp;
  });
  await harness.settled();
  t.ok(now());
  api.change<PersistentVolume>(persistentvolumes, 'v', (each) => {
    each.status = { phase: 'Released' };
  });
  await harness.settled();
  t.equal(now(), undefined);
});
