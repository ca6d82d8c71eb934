import { connect as connectHttp2 } from 'node:http2';
import { Etcd3 } from 'etcd3';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { readRevision, WireReader } from '#storage/etcd/answers.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { storeContract } from '#storage/store-contract.js';
import { EtcdServer, type EtcdServerOptions } from '#testcluster/etcd/etcd-server.js';

interface Started {
  readonly server: EtcdServer;
  readonly store: MemoryStore;
  readonly endpoint: string;
  close(): Promise<void>;
}

async function start(options: Partial<EtcdServerOptions> = {}): Promise<Started> {
  const store = new MemoryStore({ clock: realClock });
  const server = new EtcdServer({ store, clock: realClock, random: Math.random, ...options });
  const { port } = await server.listen('127.0.0.1', 0);
  const close = async () => {
    await server.close();
    await store.close();
  };
  return { server, store, close, endpoint: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}` };
}

function etcdStore(endpoint: string): EtcdStore {
  return new EtcdStore({ endpoints: [endpoint], clock: realClock, random: Math.random });
}

async function client(t: Test): Promise<{ readonly etcd: Etcd3; readonly started: Started }> {
  const started = await start();
  const etcd = new Etcd3({ hosts: started.endpoint });
  t.teardown(async () => {
    etcd.close();
    await started.close();
  });
  return { etcd, started };
}

/** A call with these bytes; without a request's fields when absent. */
function call(
  t: Test,
  { endpoint }: Started,
  method: string,
  body: Buffer = Buffer.alloc(5),
): Promise<{ status: string; answer: Buffer }> {
  const session = connectHttp2(endpoint);
  t.teardown(() => session.destroy());
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': `/etcdserverpb.${method}` });
    const parts: Buffer[] = [];
    stream.on('error', reject);
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.once('trailers', (trailers) =>
      resolve({ status: String(trailers['grpc-status']), answer: Buffer.concat(parts).subarray(5) }),
    );
    stream.end(body);
  });
}

/** Closes its server with itself. */
class OwningStore extends ForwardingStore {
  readonly #started: Started;

  constructor(store: EtcdStore, started: Started) {
    super(store);
    this.#started = started;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#started.close();
  }
}

t.test('through its API, the store meets the store contract', async (t) => {
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  await storeContract(t, async () => {
    const started = await start();
    return new OwningStore(etcdStore(started.endpoint), started);
  });
});

t.test('ranges, writes and deletions', async (t) => {
  const { etcd } = await client(t);
  for (const [key, value] of [
    ['a/1', 'x'],
    ['a/2', 'y'],
    ['b', 'z'],
  ] as const)
    await etcd.put(key).value(value);
  await etcd.put('a/1').value('w');
  const { kvs, count, more } = await etcd.getAll().prefix('a/').limit(1).exec();
  t.match(kvs, [
    { key: Buffer.from('a/1'), value: Buffer.from('w'), version: '2', create_revision: '2', mod_revision: '5' },
  ]);
  t.match({ count, more }, { count: '2', more: true }, 'a limit tells how many there are');
  t.same(await etcd.getAll().prefix('a/').sort('Mod', 'Descend').keys(), ['a/1', 'a/2']);
  t.same(await etcd.getAll().keys(), ['a/1', 'a/2', 'b'], 'all keys');
  t.equal(await etcd.get('a/1').revision(3).string(), 'x', 'an older revision');
  await t.rejects(etcd.get('a/1').revision(99).string(), /required revision is a future revision/);
  const deleted = await etcd.delete().prefix('a/').getPrevious();
  t.equal(deleted.length, 2, 'deletions tell what they deleted');
  t.same(await etcd.getAll().keys(), ['b']);
  await t.rejects(etcd.put('').value('x').exec(), /key is not provided/);
});

t.test('transactions', async (t) => {
  const { etcd } = await client(t);
  const binary = Buffer.from([0xff, 0, 0xfe]);
  await etcd.put(binary).value(binary);
  t.same(await etcd.get(binary).buffer(), binary, 'keys and values of any bytes');
  const run = () =>
    etcd
      .if('key', 'Create', '==', 0)
      .then(etcd.put('key').value('1'), etcd.put('other').value('2'))
      .else(etcd.get('key'))
      .commit();
  const first = await run();
  t.ok(first.succeeded);
  const second = await run();
  t.notOk(second.succeeded);
  const [read] = second.responses;
  t.match(read?.response_range.kvs, [{ value: Buffer.from('1') }]);
  const both = await etcd.getAll().prefix('').exec();
  const revisions = new Set(both.kvs.filter(({ key }) => !key.equals(binary)).map((kv) => kv.mod_revision));
  t.equal(revisions.size, 1, 'one revision for all writes of a transaction');
  const comparisons = [
    ['Version', '==', 1, true],
    ['Version', '>', 1, false],
    ['Mod', '<', 100, true],
    ['Value', '==', '1', true],
    ['Value', '!=', '1', false],
  ] as const;
  for (const [target, operator, value, holds] of comparisons) {
    const { succeeded } = await etcd.if('key', target, operator, value).then().commit();
    t.equal(succeeded, holds, `${target} ${operator} ${value}`);
  }
  const twice = etcd.if('key', 'Version', '>', 0).then(etcd.put('k').value('1'), etcd.put('k').value('2'));
  await t.rejects(twice.commit(), /duplicate key given in txn request/);
});

t.test('leases end their keys', async (t) => {
  const { etcd } = await client(t);
  const lease = etcd.lease(60, { autoKeepAlive: false });
  await lease.put('held').value('x');
  const id = await lease.grant();
  t.match((await etcd.get('held').exec()).kvs, [{ lease: id }]);
  t.match(await etcd.leaseClient.leaseTimeToLive({ ID: id, keys: true }), {
    grantedTTL: '60',
    keys: [Buffer.from('held')],
  });
  await lease.keepaliveOnce();
  await etcd.put('held').value('y');
  await lease.put('other').value('x');
  await lease.revoke();
  t.same(await etcd.getAll().keys(), ['held'], 'a write without the lease leaves it');
  await t.rejects(etcd.put('late').lease(id).value('x').exec(), /requested lease not found/);
  t.match(await etcd.leaseClient.leaseTimeToLive({ ID: id, keys: false }), { TTL: '-1' });
});

t.test('watches tell writes and deletions', async (t) => {
  const { etcd, started } = await client(t);
  await etcd.put('w/0').value('before');
  const watcher = await etcd.watch().prefix('w/').startRevision('2').withPreviousKV().create();
  const events: string[] = [];
  const four = new Promise<void>((resolve) => {
    const add = (text: string) => {
      events.push(text);
      if (events.length === 4) resolve();
    };
    watcher.on('put', ({ key, value }, previous) => add(`${key} ${value} ${previous?.value ?? '-'}`));
    watcher.on('delete', ({ key }, previous) => add(`${key} gone ${previous?.value}`));
  });
  await etcd.put('w/1').value('a');
  await etcd.put('w/1').value('b');
  await etcd.put('x').value('elsewhere');
  await etcd.delete().key('w/1');
  await four;
  t.same(events, ['w/0 before -', 'w/1 a -', 'w/1 b a', 'w/1 gone b']);
  await watcher.cancel();
  await started.store.compact(4n);
  const late = await etcd.watch().prefix('w/').startRevision('2').watcher();
  const error = await new Promise<Error>((resolve) => late.on('error', resolve));
  t.match(error.message, /compacted/, 'a watch of compacted history is canceled');
});

t.test('members, state, health and what is unknown', async (t) => {
  const { etcd, started } = await client(t);
  await etcd.put('a').value('1');
  const member = await call(t, started, 'Cluster/MemberList');
  t.match(member.answer.toString('latin1'), started.endpoint, 'the member has the URL that it listens at');
  t.match((await call(t, started, 'Maintenance/Status')).answer.toString('latin1'), /3\.5\.9/);
  t.equal(readRevision(new WireReader((await call(t, started, 'Maintenance/Alarm')).answer)), 2n);
  const get = async (path: string) => {
    const response = await fetch(`${started.endpoint}${path}`);
    return { status: response.status, text: await response.text() };
  };
  t.same(await get('/health'), { status: 200, text: '{"health":"true","reason":""}' });
  t.match(await get('/version'), { status: 200, text: /3\.5/ });
  t.match(await get('/readyz'), { status: 200, text: 'ok\n' });
  t.match(await get('/v2/keys'), { status: 404 });
  t.match(await call(t, started, 'Auth/UserList'), { status: '12' }, 'a call that it does not have');
});

t.test('hostile frames end their stream only', async (t) => {
  const { etcd, started } = await client(t);
  const status = async (body: Buffer) => (await call(t, started, 'KV/Range', body)).status;
  t.equal(await status(Buffer.alloc(0)), '13', 'no message');
  t.equal(await status(Buffer.from([1, 0, 0, 0, 1, 0])), '12', 'a compressed message');
  t.equal(await status(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 0])), '3', 'a message that is too long');
  t.equal(await status(Buffer.from([0, 0, 0, 0, 2, 0x0a, 0x7f])), '13', 'a truncated message');
  t.equal(await etcd.get('a').string(), null, 'others are served');
});

t.test('with TLS, clients need a certificate', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const issue = (usages: ('server' | 'client')[]) =>
    issueCertificate(authority, {
      ...{ subject: { commonName: 'x', organizations: [] }, usages, ips: ['127.0.0.1'], names: [], now },
    });
  const [serving, own] = await Promise.all([issue(['server']), issue(['client'])]);
  const started = await start({
    tls: { cert: serving.certificate, key: serving.privateKey, clientCa: authority.certificate },
  });
  const tls = { ca: authority.certificate, cert: own.certificate, key: own.privateKey };
  const store = new EtcdStore({ endpoints: [started.endpoint], tls, clock: realClock, random: Math.random });
  t.teardown(async () => {
    await store.close();
    await started.close();
  });
  t.match(await store.create('/registry/a', Buffer.from('x')), { ok: true });
  const without = new EtcdStore({
    ...{
      endpoints: [started.endpoint],
      tls: { ca: tls.ca },
      clock: realClock,
      random: Math.random,
      callTimeoutMs: 500,
    },
  });
  t.teardown(() => without.close());
  await t.rejects(without.currentRevision(), { code: 'unavailable' });
});
