/**
 * Informers with a real API server and a real etcd: both are killed, restarted and cut off, the history is compacted, and
 * objects change meanwhile. Afterwards the caches equal etcd, and the handlers saw consistent events.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { Connection } from '#client/rest/connection.js';
import { listening } from '#client/testing/tls-server.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { staticTls, staticToken } from '#http/client/credentials.js';
import { generateRsaKey, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { encodeStored } from '#storage/layout.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { Store } from '#storage/store.js';
import { startEtcd } from '#test/etcd.js';

t.setTimeout(180_000);

const steps = 24;
const patienceMs = 60_000;
const prefix = '/registry/configmaps/soak/';

function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The API server as a process that can be killed and restarted on its port. */
async function apiServer(t: Test, etcdEndpoint: string) {
  const folder = await mkdtemp(join(tmpdir(), 'informer-faults-'));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const keys = await generateRsaKey();
  const held = createServer();
  const port = await listening(t, held);
  held.close();
  const args = [
    fileURLToPath(import.meta.resolve('#cmd/orch-apiserver/main.js')),
    `--etcd-servers=${etcdEndpoint}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    '--service-account-issuer=https://test',
    `--service-account-signing-key-file=${await file('sa.key', privateKeyToPem(keys.privateKey))}`,
    `--service-account-key-file=${await file('sa.pub', publicKeyToPem(keys.publicKey))}`,
    '--service-cluster-ip-range=10.96.0.0/24',
    `--token-auth-file=${await file('tokens', `root,root,root,"${dialect.groups.masters}"\n`)}`,
  ];
  let child: ChildProcess | undefined;
  const kill = async () => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    ending.kill('SIGKILL');
    await exited;
  };
  t.teardown(async () => {
    await kill();
    await rm(folder, { recursive: true });
  });
  return {
    port,
    ca: () => readFile(join(folder, 'apiserver.crt'), 'utf8'),
    kill,
    start() {
      if (child === undefined) child = spawn(process.execPath, args, { stdio: 'ignore' });
    },
  };
}

/** A connection that can be cut without notifying either end. */
async function wireTo(t: Test, port: number) {
  let isCut = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [socket, other] of [pair, [upstream, client] as const]) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
    if (!isCut) client.pipe(upstream).pipe(client);
  });
  const listeningOn = await listening(t, server);
  t.teardown(() => {
    for (const [, upstream] of pairs) upstream.destroy();
  });
  return {
    port: listeningOn,
    cut() {
      isCut = true;
      for (const [client, upstream] of pairs) {
        client.unpipe();
        upstream.unpipe();
        client.pause();
        upstream.pause();
      }
    },
    /** Breaks the connections that were cut. */
    heal() {
      if (!isCut) return;
      isCut = false;
      for (const [client, upstream] of pairs) {
        client.destroy();
        upstream.destroy();
      }
    },
  };
}

/** Reports events that handlers must not see, like the informers' soak test in virtual time. */
function checker() {
  const objects = new Map<string, ConfigMap>();
  const problems: string[] = [];
  return {
    objects,
    problems,
    handler: {
      onAdd(object: ConfigMap) {
        if (objects.has(keyOf(object))) problems.push(`added twice: ${keyOf(object)}`);
        objects.set(keyOf(object), object);
      },
      onUpdate(object: ConfigMap, old: ConfigMap) {
        const last = objects.get(keyOf(object));
        if (last !== old) problems.push(`old is not the last one: ${keyOf(object)}`);
        if (BigInt(object.metadata.resourceVersion ?? 0) <= BigInt(old.metadata.resourceVersion ?? 0)) {
          problems.push(`went back: ${keyOf(object)}`);
        }
        objects.set(keyOf(object), object);
      },
      onDelete(object: ConfigMap) {
        if (!objects.delete(keyOf(object))) problems.push(`deleted but unknown: ${keyOf(object)}`);
      },
    },
  };
}

/** Changes objects directly in etcd, which works without the server. */
async function change(store: Store, random: (below: number) => number, step: number): Promise<void> {
  const key = `${prefix}m${random(8)}`;
  const { kvs } = await store.range({ start: key, end: `${key}\0` });
  const [present] = kvs;
  const name = key.slice(prefix.length);
  const metadata = { name, namespace: 'soak', uid: `0000-${name}-${step}`, creationTimestamp: '2022-05-03T00:00:00Z' };
  const value = encodeStored({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { step: String(step) } } as object);
  if (present === undefined) await store.create(key, value);
  else if (random(4) === 0) await store.delete(key, present.modRevision);
  else {
    const kept = JSON.parse(present.value.toString('utf8')) as { metadata: object };
    await store.update(key, encodeStored({ ...kept, data: { step: String(step) } } as object), present.modRevision);
  }
}

t.test('caches converge to etcd despite faults of server, network and history', async (t) => {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${seed}`);
  const random = generator(seed);
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
  t.teardown(() => store.close());
  const server = await apiServer(t, etcd.endpoint);
  const wire = await wireTo(t, server.port);
  server.start();
  let ca: string | undefined;
  while (ca === undefined) ca = await server.ca().catch(() => clock.sleep(50).then(() => undefined));
  const stop = new AbortController();
  const informers = ['application/json', dialect.protobufMediaType].flatMap((contentType) =>
    [false, true].map((streamInitialState) => {
      const config = {
        server: `https://127.0.0.1:${wire.port}`,
        namespace: 'soak',
        token: staticToken('root'),
        tls: staticTls({ ca }),
      };
      const options = { dialect, clock, program: 'test', qps: 0, burst: 1, contentType };
      const connection = new Connection(config, options);
      const client = connection.client('informer');
      const factory = new SharedInformerFactory({ client, clock, random: Math.random, log, streamInitialState });
      const informer = factory.informer(configmaps, { namespace: 'soak' });
      const { handler, objects, problems } = checker();
      informer.addHandler(handler);
      const running = factory.start(stop.signal);
      return {
        name: `${contentType}${streamInitialState ? ', streamed' : ''}`,
        informer,
        objects,
        problems,
        running,
        connection,
      };
    }),
  );
  t.teardown(async () => {
    stop.abort();
    await Promise.all(informers.map(({ running }) => running));
    await Promise.all(informers.map(({ connection }) => connection.close()));
  });
  const print = (objects: readonly (readonly [string, string])[]) =>
    objects
      .map((o) => o.join('@'))
      .sort()
      .join(' ');
  const inEtcd = async () => {
    const { kvs } = await store.range({ start: prefix, end: prefixEnd(prefix) });
    return print(kvs.map(({ key, modRevision }) => [`soak/${key.slice(prefix.length)}`, String(modRevision)]));
  };
  const converged = async (when: string) => {
    const expected = await inEtcd();
    const cached = (list: readonly ConfigMap[]) =>
      print(list.map((object) => [keyOf(object), object.metadata.resourceVersion ?? '']));
    const behind = () => informers.filter(({ informer }) => cached(informer.list()) !== expected);
    for (const end = clock.monotonic() + patienceMs; behind().length > 0 && clock.monotonic() < end; ) {
      await clock.sleep(20);
    }
    for (const { name, informer } of behind()) t.equal(cached(informer.list()), expected, `${when}: ${name}`);
  };
  await converged('at first');
  for (let step = 0; step < steps; step += 1) {
    for (let i = random(6); i >= 0; i -= 1) await change(store, random, step * 10 + i);
    switch (random(8)) {
      case 0:
        await server.kill();
        break;
      case 1:
      case 2:
        server.start();
        break;
      case 3:
        wire.cut();
        break;
      case 4:
        wire.heal();
        break;
      case 5:
        await etcd.kill();
        await etcd.restart();
        break;
      case 6:
        await store.compact(await store.currentRevision());
        break;
      default:
        await clock.sleep(random(700));
    }
  }
  wire.heal();
  server.start();
  await converged('at last');
  for (const { name, problems, objects, informer } of informers) {
    t.same(problems, [], name);
    t.equal(objects.size, informer.size, name);
  }
});
