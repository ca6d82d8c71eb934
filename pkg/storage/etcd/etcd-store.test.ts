import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { EndpointTls } from '#storage/etcd/grpc/endpoint.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { type Store, StoreError, type StoreErrorCode } from '#storage/store.js';
import { storeContract } from '#storage/store-contract.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';

t.setTimeout(120_000);

async function clear(store: Store): Promise<void> {
  const { kvs } = await store.range({ start: '/', end: prefixEnd('/'), keysOnly: true });
  for (const { key, modRevision } of kvs) await store.delete(key, modRevision);
}

function connect(etcd: TestEtcd, options: { watchQueueSize?: number } = {}): EtcdStore {
  return new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random, ...options });
}

async function fails(t: Test, promise: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (err: unknown) => err,
  );
  t.ok(error instanceof StoreError && error.code === code, `fails with ${code}`, { error });
}

/** Reads via etcd's own JSON gateway, independently of this codec. */
async function gateway(etcd: TestEtcd, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${etcd.endpoint}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

/** Creates keys with a time to live and returns the IDs of their leases. */
async function leaseOf(etcd: TestEtcd, store: Store, keys: string[], ttlSeconds: number): Promise<string[]> {
  const leases: string[] = [];
  for (const key of keys) {
    await store.create(key, Buffer.from('x'), { ttlSeconds });
    const { kvs } = await gateway(etcd, 'kv/range', { key: Buffer.from(key).toString('base64') });
    leases.push((kvs as { lease?: string }[])[0]?.lease ?? '0');
  }
  return leases;
}

async function revoke(etcd: TestEtcd, id: string): Promise<void> {
  await gateway(etcd, 'kv/lease/revoke', { ID: id });
}

void t.test('the etcd store meets the store contract', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const newStore = async (options: { watchQueueSize?: number } = {}) => {
    const store = connect(etcd, options);
    await clear(store);
    return store;
  };
  await t.test('contract', (t) => storeContract(t, newStore));
  await t.test('contract with watches that keep falling behind', (t) =>
    storeContract(t, () => newStore({ watchQueueSize: 1 })),
  );
  await t.test('a value refused by etcd', async (t) => {
    const store = await newStore();
    t.teardown(() => store.close());
    await fails(t, store.create('/registry/huge', Buffer.alloc(2 * 1024 * 1024)), 'tooLarge');
    t.same((await store.range({ start: '/registry/', end: prefixEnd('/registry/') })).kvs, []);
  });
  await t.test('keys that expire at about the same time share a lease', async (t) => {
    const store = await newStore();
    t.teardown(() => store.close());
    const leases = await leaseOf(etcd, store, ['/registry/a', '/registry/b'], 1000);
    t.equal(new Set(leases).size, 1);
    t.not(leases[0], '0');
    await revoke(etcd, leases[0] ?? '');
    const [again] = await leaseOf(etcd, store, ['/registry/c'], 1000);
    t.not(again, leases[0], 'a revoked lease is replaced');
  });
});

void t.test('one of two endpoints is unreachable', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const away = await startEtcd();
  await away.stop();
  for (const random of [0, 0.9]) {
    const endpoints = [away.endpoint, etcd.endpoint];
    const store = new EtcdStore({ endpoints, clock: realClock, random: () => random });
    t.teardown(() => store.close());
    const from = (await store.currentRevision()) + 1n;
    const controller = new AbortController();
    const range = { start: '/registry/', end: prefixEnd('/registry/') };
    const watch = store.watch({ ...range, fromRevision: from, signal: controller.signal })[Symbol.asyncIterator]();
    const written = await store.create(`/registry/${random}`, Buffer.from('x'));
    const seen: bigint[] = [];
    while (!seen.includes(written.revision)) {
      const message = await watch.next();
      if (!message.done)
        seen.push(...(message.value.type === 'events' ? message.value.events : []).map(({ kv }) => kv.modRevision));
    }
    t.equal(seen[0], written.revision);
    controller.abort();
    await watch.return?.();
  }
});

void t.test('no endpoint is reachable', async (t) => {
  const away = await startEtcd();
  await away.stop();
  const store = connect(away);
  t.teardown(() => store.close());
  await fails(t, store.health(), 'unavailable');
  await fails(t, store.currentRevision(), 'unavailable');
  t.throws(() => new EtcdStore({ endpoints: [], clock: realClock, random: Math.random }), TypeError);
  t.throws(() => new EtcdStore({ endpoints: ['ftp://127.0.0.1'], clock: realClock, random: Math.random }), TypeError);
});

void t.test('over TLS with client certificates', async (t) => {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'etcd-ca', now });
  const server = { subject: { commonName: 'etcd', organizations: [] }, ips: ['127.0.0.1'], now };
  const etcd = await startEtcd({
    tls: {
      ca: authority.certificate,
      ...(await issueCertificate(authority, { ...server, usages: ['server', 'client'] })),
    },
  });
  t.teardown(() => etcd.stop());
  const subject = { commonName: 'apiserver', organizations: [] };
  const client = await issueCertificate(authority, { subject, usages: ['client'], now });
  const options = { endpoints: [etcd.endpoint], clock: realClock, random: Math.random, callTimeoutMs: 1000 };
  const ca = Buffer.from(authority.certificate);
  const cert = Buffer.from(client.certificate);
  const key = Buffer.from(client.privateKey);

  const store = new EtcdStore({ ...options, tls: { ca, cert, key } });
  t.teardown(() => store.close());
  t.equal((await store.create('/registry/a', Buffer.from('x'))).ok, true);
  const stranger = new EtcdStore({ ...options, tls: { ca } });
  t.teardown(() => stranger.close());
  await fails(t, stranger.range({ start: '/registry/', end: prefixEnd('/registry/') }), 'unavailable');
  const trustless = new EtcdStore({ ...options, tls: { cert, key } });
  t.teardown(() => trustless.close());
  await fails(t, trustless.health(), 'unavailable');

  const issued: EndpointTls[] = [{ ca }];
  const renewing = new EtcdStore({ ...options, tls: async () => issued.shift() ?? { ca, cert, key } });
  t.teardown(() => renewing.close());
  await renewing.health();
  t.same(issued, [], 'the TLS files are read for each connection');
  const unreadable = new EtcdStore({ ...options, tls: () => Promise.reject(new Error('no such file')) });
  t.teardown(() => unreadable.close());
  await fails(t, unreadable.health(), 'unavailable');
});
