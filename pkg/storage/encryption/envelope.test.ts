import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { parseEncryptionConfig } from '#storage/encryption/encryption-config.js';
import { GrpcKeyService } from '#storage/encryption/grpc-key-service.js';
import { resourceEncryption } from '#storage/encryption/resource-encryption.js';
import { KmsPlugin } from '#storage/encryption/testing/kms-plugin.js';
import { TransformingStore } from '#storage/encryption/transforming-store.js';
import { valueCipher } from '#storage/encryption/value-cipher.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { createStorageMetrics } from '#storage/metrics.js';

const key = '/registry/secrets/default/a';
const value = Buffer.from('{"kind":"Secret","apiVersion":"v1"}');

async function startPlugin(t: Test): Promise<KmsPlugin> {
  const folder = await mkdtemp(join(tmpdir(), 'kms-'));
  const plugin = new KmsPlugin(join(folder, 's'));
  await plugin.start();
  t.teardown(async () => {
    plugin.stop();
    await rm(folder, { recursive: true });
  });
  return plugin;
}

const kms = (name: string, { socket }: KmsPlugin, more: object = {}) => ({
  kms: { name, endpoint: `unix://${socket}`, ...more },
});

function encryptionWith(t: Test, ...providers: object[]) {
  const registry = new Registry();
  const text = JSON.stringify({
    apiVersion: dialect.apiServerConfigVersion,
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers }],
  });
  const clock = new VirtualClock();
  const encryption = resourceEncryption(parseEncryptionConfig(text, dialect), {
    reserved: dialect.encryptedPrefix,
    random: randomBytes,
    clock,
    metrics: createStorageMetrics(registry),
    openService: ({ socket, timeoutMs }) => new GrpcKeyService({ socket, timeoutMs, clock: realClock }),
  });
  t.teardown(() => encryption.close());
  const transformer = encryption.transformers.get('secrets');
  if (transformer === undefined) throw new TypeError('no transformer');
  return { clock, probes: encryption.probes, registry, transformer };
}

t.test('each value has a key of its own, which is kept', async (t) => {
  const plugin = await startPlugin(t);
  const { registry, transformer } = encryptionWith(t, kms('vault', plugin));
  const first = await transformer.toStorage(value, key);
  const second = await transformer.toStorage(value, key);
  const prefix = 'k8s:enc:kms:v1:vault:';
  t.equal(first.subarray(0, prefix.length).toString(), prefix);
  t.notSame(first, second);
  t.equal(first.indexOf('Secret'), -1, 'nothing of the value is readable');
  for (const bytes of [first, second]) {
    t.same(await transformer.fromStorage(bytes, key), { value, stale: false, authenticated: false });
  }
  t.same(plugin.calls, { Version: 1, Encrypt: 2, Decrypt: 0 }, 'reading calls nothing');
  const other = encryptionWith(t, kms('vault', plugin));
  for (let i = 0; i < 2; i += 1) t.same((await other.transformer.fromStorage(first, key)).value, value);
  t.equal(plugin.calls.Decrypt, 1, 'another server calls once');
  const text = (await registry.metrics()) + (await other.registry.metrics());
  for (const line of [
    'apiserver_storage_transformation_operations_total{transformation_type="to_storage",transformer_prefix="k8s:enc:kms:v1:vault:",status="OK"} 2',
    'apiserver_storage_envelope_transformation_cache_misses_total 1',
    'apiserver_storage_data_key_generation_duration_seconds_count 2',
    'apiserver_storage_data_key_generation_failures_total 0',
    'apiserver_envelope_encryption_dek_cache_fill_percent 0.002',
    'apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds_count{transformation_type="from_storage"} 2',
  ]) {
    t.ok(text.includes(line), line);
  }
});

t.test('the number of kept keys is bounded', async (t) => {
  const plugin = await startPlugin(t);
  for (const [cachesize, calls] of [
    [2, 1],
    [-1, 3],
  ] as const) {
    plugin.calls.Decrypt = 0;
    const { transformer } = encryptionWith(t, kms('vault', plugin, { cachesize }));
    const written = [];
    for (let i = 0; i < 3; i += 1) written.push(await transformer.toStorage(value, key));
    for (const bytes of written.reverse()) t.same((await transformer.fromStorage(bytes, key)).value, value);
    t.equal(plugin.calls.Decrypt, calls, `cachesize ${cachesize}`);
  }
});

t.test('a provider is replaced by another, or by a local key', async (t) => {
  const [old, next] = [await startPlugin(t), await startPlugin(t)];
  const local = { secretbox: { keys: [{ name: 'a', secret: randomBytes(32).toString('base64') }] } };
  const bytes = await encryptionWith(t, kms('old', old)).transformer.toStorage(value, key);
  const rotated = encryptionWith(t, kms('next', next), kms('old', old), local).transformer;
  t.same(await rotated.fromStorage(bytes, key), { value, stale: true, authenticated: false });
  const rewritten = await rotated.toStorage(value, key);
  t.equal((await rotated.fromStorage(rewritten, key)).stale, false);
  const localBytes = await encryptionWith(t, local).transformer.toStorage(value, key);
  t.same(await rotated.fromStorage(localBytes, key), { value, stale: true, authenticated: true });
  await t.rejects(
    async () => encryptionWith(t, kms('next', next)).transformer.fromStorage(bytes, key),
    { name: 'TransformError', message: 'no matching prefix found' },
    'without the old provider',
  );
});

t.test('values in AES-GCM, which releases after 1.24 write, are read and stale', async (t) => {
  const plugin = await startPlugin(t);
  const { transformer } = encryptionWith(t, kms('vault', plugin));
  const service = new GrpcKeyService({ socket: plugin.socket, timeoutMs: 3000, clock: realClock });
  t.teardown(() => service.close());
  const secret = randomBytes(32);
  const encryptedKey = await service.encrypt(secret);
  const length = Buffer.from([0, encryptedKey.length]);
  const sealed = valueCipher('aesgcm', secret, randomBytes).encrypt(value, key);
  const bytes = Buffer.concat([Buffer.from('k8s:enc:kms:v1:vault:'), length, encryptedKey, sealed]);
  t.same(await transformer.fromStorage(bytes, key), { value, stale: true, authenticated: true });
});

t.test('malformed values are unreadable', async (t) => {
  const plugin = await startPlugin(t);
  const { transformer } = encryptionWith(t, kms('vault', plugin));
  const prefix = Buffer.from('k8s:enc:kms:v1:vault:');
  const envelope = 'invalid data encountered by envelope transformer: failed to read uint16 length prefixed data';
  const rows: [string, Buffer, string][] = [
    ['no length', Buffer.from([0]), envelope],
    ['a key that ends early', Buffer.from([0, 9, 1]), envelope],
    [
      'a foreign key',
      Buffer.concat([Buffer.from([0, 40]), randomBytes(80)]),
      'rpc error: code = Unknown desc = cannot decrypt',
    ],
  ];
  for (const [name, bytes, message] of rows) {
    await t.rejects(
      async () => transformer.fromStorage(Buffer.concat([prefix, bytes]), key),
      { name: 'TransformError', message },
      name,
    );
  }
});

t.test('a store without its service answers 500, and reads again when it is back', async (t) => {
  const plugin = await startPlugin(t);
  const { registry, transformer } = encryptionWith(t, kms('vault', plugin, { cachesize: -1 }), { identity: {} });
  const store = new TransformingStore(new MemoryStore({ clock: realClock }), transformer);
  await store.create(key, value);
  await store.create(`${key}2`, value);
  const range = () => store.range({ start: '/registry/secrets/', end: '/registry/secrets0' });
  t.same(
    (await range()).kvs.map((kv) => kv.value),
    [value, value],
  );

  plugin.refuse = () => ({ code: status.UNAVAILABLE, details: 'sealed' });
  const reason = 'rpc error: code = Unavailable desc = sealed';
  await t.rejects(range(), { message: `Internal error occurred: unable to transform key "${key}": ${reason}` });
  await t.rejects(store.create(`${key}3`, value), { message: `Internal error occurred: ${reason}` });

  plugin.refuse = () => ({ code: status.UNKNOWN, details: 'the cloud is away' });
  await t.rejects(range(), /the cloud is away/, 'a plugin that can do nothing makes no value unreadable');
  plugin.refuse = undefined;
  t.equal((await range()).kvs.length, 2);
  const text = await registry.metrics();
  t.match(
    text,
    /operations_total\{transformation_type="to_storage",transformer_prefix="k8s:enc:kms:v1:vault:",status="Unavailable"\} 1/,
  );
  t.match(
    text,
    /operations_total\{transformation_type="from_storage",transformer_prefix="k8s:enc:kms:v1:vault:",status="Unavailable"\}/,
  );
});

t.test('a list stops calling a service that fails', async (t) => {
  const plugin = await startPlugin(t);
  const { transformer } = encryptionWith(t, kms('vault', plugin, { cachesize: -1 }));
  const store = new TransformingStore(new MemoryStore({ clock: realClock }), transformer);
  for (let i = 0; i < 200; i += 1) await store.create(`${key}${String(i).padStart(3, '0')}`, value);
  const range = () => store.range({ start: key, end: `${key}9` });
  t.equal((await range()).kvs.length, 200);
  plugin.calls.Decrypt = 0;
  plugin.refuse = () => ({ code: status.UNAVAILABLE, details: 'sealed' });
  await t.rejects(range(), /sealed/);
  await Promise.all(Array.from({ length: 32 }, () => transformer.toStorage(value, key))).catch(() => undefined);
  t.ok(plugin.calls.Decrypt <= 64, `${plugin.calls.Decrypt} calls of 200`);
  plugin.refuse = undefined;
  const { kvs } = await range();
  t.same(
    kvs.map((kv) => kv.key),
    kvs.map((kv) => kv.key).sort(),
  );
  t.ok(
    kvs.every((kv) => kv.value.equals(value)),
    'in order and complete',
  );
});

t.test('one value that the service refuses hides no other', async (t) => {
  const plugin = await startPlugin(t);
  const { transformer } = encryptionWith(t, kms('vault', plugin, { cachesize: -1 }));
  const below = new MemoryStore({ clock: realClock });
  const store = new TransformingStore(below, transformer);
  await store.create(`${key}1`, value);
  const foreign = Buffer.concat([Buffer.from('k8s:enc:kms:v1:vault:\0\x28'), randomBytes(80)]);
  await below.create(`${key}2`, foreign);
  const { kvs } = await store.range({ start: key, end: `${key}9` });
  t.same(
    kvs.map(({ unreadable }) => unreadable),
    [undefined, 'rpc error: code = Unknown desc = cannot decrypt'],
  );
});

t.test('the health of a service', async (t) => {
  const plugin = await startPlugin(t);
  const { clock, probes } = encryptionWith(t, kms('vault', plugin));
  const [probe] = probes;
  await probe?.check();
  plugin.refuse = (method) => (method === 'Decrypt' ? { code: status.INTERNAL, details: 'broken' } : undefined);
  await clock.advance(19_000);
  await probe?.check();
  t.equal(plugin.calls.Encrypt, 1, 'a good result holds for 20 seconds');
  await clock.advance(1_000);
  const failure =
    'failed to perform decrypt section of the healthz check for KMS Provider vault, error: rpc error: code = Internal desc = broken';
  await t.rejects(async () => probe?.check(), { message: failure });
  plugin.refuse = undefined;
  await clock.advance(2_000);
  await t.rejects(async () => probe?.check(), { message: failure });
  await clock.advance(1_000);
  await probe?.check();
  t.equal(plugin.calls.Encrypt, 3, 'a bad one for three');
});
