/**
 * Two controller managers, each a process behind its own proxy, with endless work: the leader is killed, cut off from the
 * API server, and stopped for several lease durations. Each write must be the lock holder's, in the order of the store.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import { ended, startApi, until } from '#test/integration/daemons/api.js';
import { startTcpProxy } from '#test/tcp-proxy.js';

t.setTimeout(240_000);

const leaseMs = 4000;
const names = ['manager-a', 'manager-b'] as const;
const lock = dialect.components.controllerManager;
const namespace = 'default';

/** The manager of the field, which the server takes from the user agent of the client. */
function writerOf({ metadata }: ApiObject, field: string): string | undefined {
  return metadata.managedFields?.find(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes(`"f:${field}"`))?.manager;
}

t.test('never two managers that write, whatever happens to the leader', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
  const test = await startApi(t, { dialect, store });
  const { client } = test;
  const managers = await Promise.all(
    names.map(async (name) => {
      const proxy = await startTcpProxy(`http://127.0.0.1:${test.port}`);
      t.teardown(() => proxy.stop());
      const config = join(test.folder, name);
      const own = await readFile(test.managerConfig, 'utf8');
      await writeFile(config, own.replaceAll(`:${test.port}`, `:${new URL(proxy.endpoint).port}`));
      const start = () =>
        test.start('#test/integration/daemons/named-manager.js', [
          name,
          `--orchconfig=${config}`,
          '--secure-port=0',
          '--controllers=replicaset',
          '--orch-api-qps=-1',
          `--leader-elect-lease-duration=${leaseMs}ms`,
          '--leader-elect-renew-deadline=3s',
          '--leader-elect-retry-period=500ms',
        ]);
      return { name, proxy, start, child: start() };
    }),
  );

  /** Acquisitions of the lock and writers of pods, in the order of the store. */
  const terms: {
    readonly revision: bigint;
    readonly name: string;
    readonly identity: string;
    readonly atMs: number;
  }[] = [];
  const writes: { readonly revision: bigint; readonly name: string }[] = [];
  const stop = new AbortController();
  const watching = async (watch: () => Promise<void>) => {
    await watch().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
  };
  const { signal } = stop;
  const watches = Promise.all([
    watching(async () => {
      const where = { namespace: dialect.namespaces.system, fieldSelector: `metadata.name=${lock}` };
      for await (const { object } of client.resource(leases).watch({ ...where, resourceVersion: '1', signal })) {
        const identity = object.spec.holderIdentity ?? '';
        if (identity === terms.at(-1)?.identity) continue;
        const revision = BigInt(object.metadata.resourceVersion ?? 0);
        const name = identity === '' ? '' : (writerOf(object, 'holderIdentity') ?? 'unknown');
        terms.push({ revision, name, identity, atMs: clock.monotonic() });
      }
    }),
    watching(async () => {
      for await (const { type, object } of client.resource(pods).watch({ namespace, resourceVersion: '1', signal })) {
        if (type !== 'ADDED') continue;
        const revision = BigInt(object.metadata.resourceVersion ?? 0);
        writes.push({ revision, name: writerOf(object, 'containers') ?? 'unknown' });
        // The end of each pod is work for the leader.
        const { name = '' } = object.metadata;
        const end = () =>
          client
            .resource(pods)
            .delete(name, { namespace })
            .catch(() => undefined);
        clock.setTimer(() => void end(), 20);
      }
    }),
  ]);
  // Awaited at the end.
  watches.catch(() => undefined);
  await client.resource(serviceaccounts).create({ metadata: { name: 'default', namespace } });
  const labels = { app: 'web' };
  await client.resource(replicasets).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 4,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });

  const faults: Record<string, (manager: (typeof managers)[number]) => Promise<() => void>> = {
    'killed with -9': async (manager) => {
      manager.child.kill('SIGKILL');
      await ended(manager.child);
      return () => {
        manager.child = manager.start();
      };
    },
    'cut off, its requests held on the way': async ({ proxy }) => {
      proxy.hold();
      return () => proxy.pass();
    },
    'cut off, its connections broken': async ({ proxy }) => {
      proxy.cut();
      return () => proxy.pass();
    },
    'stopped for several lease durations': async ({ child }) => {
      child.kill('SIGSTOP');
      return () => child.kill('SIGCONT');
    },
  };
  const writtenBy = (name: string) => writes.filter((write) => write.name === name).length;
  for (const [what, happens] of Object.entries(faults)) {
    const before = writes.length;
    await until('a manager works', async () => writes.length > before + 10);
    const leader = managers.find(({ name }) => name === writes.at(-1)?.name);
    const other = managers.find((manager) => manager !== leader);
    if (leader === undefined || other === undefined) throw new TypeError('the last writer is not one of the managers');
    const termCount = terms.length;
    const written = writtenBy(other.name);
    const sinceMs = clock.monotonic();
    const mend = await happens(leader);
    await until(`the other one works (${what})`, async () => writtenBy(other.name) > written + 10);
    const takeover = terms.slice(termCount).find(({ name }) => name === other.name);
    t.comment(`${what}: taken over after ${Math.round((takeover?.atMs ?? 0) - sinceMs)} ms, lease ${leaseMs} ms`);
    if (what.startsWith('stopped')) await clock.sleep(2 * leaseMs);
    mend();
  }
  // By then a manager that woke up or is reachable again has had its chance to write.
  await until('the woken one stands by', async () => {
    const lease = await client.resource(leases).get(lock, { namespace: dialect.namespaces.system });
    return lease.spec.holderIdentity === terms.at(-1)?.identity && terms.length > 4;
  });
  const last = writes.length;
  await until('the work goes on', async () => writes.length > last + 50);
  stop.abort();
  await watches;

  const wrong = writes.filter(({ revision, name }) => {
    const holder = terms.findLast((term) => term.revision < revision);
    return holder?.name !== name;
  });
  t.same(wrong, [], `${writes.length} writes in ${terms.length} terms, each by who held the lock`);
  for (const name of names) t.ok(writtenBy(name) > 0, `${name} wrote ${writtenBy(name)} times`);
});
