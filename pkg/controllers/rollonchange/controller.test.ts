import t, { type Test } from 'tap';
import { daemonsets, deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { RollOnChangeController } from '#controllers/rollonchange/controller.js';

const { rollOnChange, referencesHash } = dialect.annotations;

function workload(name: string, annotation: string | undefined): Deployment {
  return {
    metadata: { name, namespace: 'shop', annotations: annotation === undefined ? {} : { [rollOnChange]: annotation } },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [
            { name: 'c', envFrom: [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'key' } }] },
          ],
        },
      },
    },
  };
}

async function setUp(t: Test, ...given: readonly Deployment[]) {
  const harness = new Harness(t, [deployments, statefulsets, daemonsets, configmaps, secrets]);
  const { api } = harness;
  api.seed(configmaps, { metadata: { name: 'settings', namespace: 'shop' }, data: { a: '1' } });
  api.seed(secrets, { metadata: { name: 'key', namespace: 'shop' }, data: { k: 'eA==' } });
  for (const each of given) api.seed(deployments, each);
  await harness.start(new RollOnChangeController(harness.context));
  await harness.advance(2000);
  const set = (value: string) =>
    api.change<ConfigMap>(configmaps, 'shop/settings', (map) => {
      map.data = { a: value };
    });
  const templateHash = (name: string) =>
    api.get(deployments, `shop/${name}`)?.spec?.template.metadata?.annotations?.[referencesHash];
  const recorded = (name: string) => api.get(deployments, `shop/${name}`)?.metadata.annotations?.[referencesHash];
  return { harness, api, set, templateHash, recorded };
}

t.test('a change rolls the workloads that use it and say so', async (t) => {
  const { harness, api, set, templateHash, recorded } = await setUp(
    t,
    workload('web', 'true'),
    workload('other', undefined),
    workload('keyed', 'secret/key'),
  );
  const first = recorded('web');
  t.match(first, /^[0-9a-f]{16}$/, 'the present content is recorded');
  t.equal(templateHash('web'), undefined, 'without a rollout');
  set('2');
  await harness.advance(3000);
  set('3');
  await harness.advance(3000);
  t.equal(templateHash('web'), undefined, 'changes are gathered');
  await harness.advance(3000);
  const second = templateHash('web');
  t.match(second, /^[0-9a-f]{16}$/);
  t.not(second, first);
  t.equal(recorded('web'), second);
  t.equal(templateHash('other'), undefined, 'no annotation');
  t.equal(templateHash('keyed'), undefined, 'only the secret counts');
  t.same(harness.events, ['Normal RollingOnChange web: Rolling out because of changes in configmap/settings']);
  await harness.advance(60_000);
  t.equal(templateHash('web'), second, 'once');

  api.remove(configmaps, 'shop/settings');
  await harness.advance(60_000);
  t.equal(templateHash('web'), second, 'a missing object rolls nothing');
  api.seed(configmaps, { metadata: { name: 'settings', namespace: 'shop' }, data: { a: '3' } });
  await harness.advance(60_000);
  t.equal(templateHash('web'), second, 'the same content again is no change');
  api.change(secrets, 'shop/key', (secret) => {
    secret.data = { k: 'eQ==' };
  });
  await harness.advance(10_000);
  t.not(templateHash('web'), second);
  t.match(templateHash('keyed'), /./, 'the secret has changed');
});

t.test('without annotations nothing is read', async (t) => {
  const { harness, api } = await setUp(t, workload('web', undefined), workload('off', 'false'));
  await harness.advance(60_000);
  const read = api.calls.filter(({ resource }) => resource === 'configmaps' || resource === 'secrets');
  t.same(read, [], 'neither ConfigMaps nor Secrets');
});
