import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { readEncryptionUse } from '#etcd-admin/encryption-use.js';
import { parseEncryptionConfig } from '#storage/encryption/encryption-config.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

t.test('objects are counted by the key of their values', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const put = (key: string, value: string) => store.create(`/registry/${key}`, Buffer.from(`${value}\0\x01`));
  for (let i = 0; i < 300; i += 1) await put(`secrets/default/a${i}`, 'k8s:enc:kms:v1:vault:');
  await put('secrets/default/b', 'k8s:enc:aescbc:v1:first:');
  await put('secrets/default/c', 'k8s:enc:aescbc:v1:gone:');
  await put('secrets/default/d', '{"kind":"Secret"}');
  await put('secrets/default/e', 'orch:enc:secretbox:v1:x:');
  await put('secrets/default/f', 'k8s:enc:');
  await put('deployments/default/a', 'k8s:enc:kms:v1:vault:');
  await put('example.com/widgets/default/a', '{}');
  await put('pods/default/a', '{}');
  await put('compact_rev_key', '1');
  const rules = parseEncryptionConfig(
    JSON.stringify({
      apiVersion: kubernetesDialect.apiServerConfigVersion,
      kind: 'EncryptionConfiguration',
      resources: [
        {
          resources: ['secrets', 'deployments.apps', 'widgets.example.com'],
          providers: [
            { kms: { name: 'vault', endpoint: 'unix:///run/vault.sock' } },
            { aescbc: { keys: [{ name: 'first', secret: Buffer.alloc(32).toString('base64') }] } },
            { identity: {} },
          ],
        },
      ],
    }),
    kubernetesDialect,
  );
  const pages: number[] = [];
  const onPage = (objects: number) => pages.push(objects);
  const { objects, revision, uses } = await readEncryptionUse(store, { prefix: '/registry/', rules, onPage });
  t.equal(objects, 308);
  t.same(pages, [199, 308], 'page by page, without the keys of this product itself');
  t.equal(revision, await store.currentRevision());
  t.same(
    uses.map(({ resource, key, objects: count, state }) => [resource, key, count, state]),
    [
      ['deployments', 'kms:vault', 1, 'current'],
      ['pods', 'plain', 1, 'current'],
      ['secrets', 'kms:vault', 300, 'current'],
      ['secrets', 'aescbc:first', 1, 'old'],
      ['secrets', 'aescbc:gone', 1, 'unreadable'],
      ['secrets', 'plain', 1, 'old'],
      ['secrets', 'secretbox:x', 1, 'unreadable'],
      ['secrets', 'others', 1, 'unreadable'],
      ['widgets.example.com', 'plain', 1, 'old'],
    ],
  );
  t.equal(uses[3]?.example, '/registry/secrets/default/b');
  const without = await readEncryptionUse(store, { prefix: '/registry/', onPage: () => undefined });
  t.equal(without.uses[0]?.state, undefined, 'without a configuration');
});

t.test('the number of keys is bounded', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  for (let i = 0; i < 150; i += 1) await store.create(`/registry/secrets/${i}`, Buffer.from(`k8s:enc:aesgcm:v1:${i}:`));
  const { uses } = await readEncryptionUse(store, { prefix: '/registry/', onPage: () => undefined });
  t.equal(uses.length, 101);
  t.match(uses[0], { key: 'others', objects: 50 });
});
