/** An etcd with exhausted quota: it refuses writes until space is freed and the alarm is disarmed. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { statusFromStore } from '#storage/errors.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { Revision } from '#storage/store.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';

t.setTimeout(120_000);

const quotaBytes = 8 * 1024 * 1024;

/** Via etcd's own JSON gateway. */
async function ask(etcd: TestEtcd, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${etcd.endpoint}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

/** Like `etcdctl alarm disarm`. */
async function disarm(etcd: TestEtcd): Promise<void> {
  const { alarms } = await ask(etcd, 'maintenance/alarm', { action: 'GET' });
  for (const alarm of alarms as object[]) await ask(etcd, 'maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
}

t.test('a full etcd refuses only writes, with advice; after space is freed, all work again', async (t) => {
  const etcd = await startEtcd({ args: ['--quota-backend-bytes', String(quotaBytes)] });
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
  t.teardown(() => store.close());
  const value = Buffer.alloc(500_000, 'x');
  const written: Revision[] = [];
  let refusal: unknown;
  for (let i = 0; refusal === undefined; i++) {
    await store.create(`/a/${i}`, value).then(
      ({ revision }) => written.push(revision),
      (error: unknown) => {
        refusal = error;
      },
    );
  }
  t.match(refusal, { code: 'noSpace', message: 'etcdserver: mvcc: database space exceeded' });
  const status = statusFromStore(refusal);
  t.ok(status instanceof StatusError && status.status.code === 503);
  t.match(
    String(status),
    /database space exceeded.*delete.*etcdctl defrag.*etcdctl alarm disarm.*--quota-backend-bytes/s,
  );

  const { kvs } = await store.range({ start: '/a/', end: '/a0' });
  const revisions = new Map(kvs.map(({ key, modRevision }) => [key, modRevision]));
  for (const [i, revision] of written.entries())
    t.equal(revisions.get(`/a/${i}`), revision, 'all acknowledged values exist');
  // A write that exceeds the quota only when etcd applies it is applied, and still refused.
  t.ok(kvs.length <= written.length + 1, 'at most one more value exists');
  for (const [key, revision] of revisions) t.ok((await store.delete(key, revision)).ok);
  await t.rejects(store.create('/b', value), { code: 'noSpace' }, 'freeing space does not disarm the alarm');
  const revision = await store.currentRevision();
  await ask(etcd, 'kv/compaction', { revision: String(revision), physical: true });
  await ask(etcd, 'maintenance/defragment', {});
  await disarm(etcd);
  t.ok((await store.create('/b', value)).ok);
});
