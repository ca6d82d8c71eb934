/** With real etcds: snapshots, and the recovery of a full store. */
import { appendFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { EtcdAdmin, EtcdAdminError } from '#etcd-admin/admin.js';
import { SnapshotError, verifySnapshot, writeSnapshot } from '#etcd-admin/snapshot.js';
import { EtcdUpkeep } from '#etcd-admin/upkeep.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { startEtcd, startEtcdCluster } from '#test/etcd.js';

t.setTimeout(240_000);

const quotaBytes = 8 * 1024 * 1024;
const quota = ['--quota-backend-bytes', String(quotaBytes)];

t.test('snapshots are written and verified', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const access = { endpoints: [etcd.endpoint], clock: realClock };
  const store = new EtcdStore({ ...access, random: Math.random });
  const admin = new EtcdAdmin(access);
  t.teardown(async () => {
    admin.close();
    await store.close();
  });
  for (let i = 0; i < 20; i++) await store.create(`/registry/${i}`, Buffer.alloc(50_000, `${i}`));
  const file = join(t.testdir(), 'snapshot');
  const bytes = await writeSnapshot(file, admin.snapshot());
  t.ok(bytes > 1_000_000);
  await verifySnapshot(file);
  await t.rejects(writeSnapshot(file, admin.snapshot()), { code: 'EEXIST' }, 'nothing is overwritten');
  await appendFile(file, 'x');
  await t.rejects(verifySnapshot(file), SnapshotError);
  await truncate(file, bytes - 512);
  await t.rejects(verifySnapshot(file), /does not match its hash/);
  await rm(file);
  async function* torn() {
    let left = 1_000_000;
    for await (const piece of admin.snapshot()) {
      left -= piece.length;
      if (left < 0) return;
      yield piece;
    }
  }
  await t.rejects(writeSnapshot(file, torn()), SnapshotError, 'a truncated snapshot is refused');
  await etcd.kill();
  await t.rejects(admin.status(etcd.endpoint), EtcdAdminError);
});

t.test('a full store takes writes again after deletions, when all members are defragmented', async (t) => {
  const members = await startEtcdCluster(3, quota);
  t.teardown(() => Promise.all(members.map((member) => member.stop())));
  const access = { endpoints: members.map(({ endpoint }) => endpoint), clock: realClock };
  const store = new EtcdStore({ ...access, random: Math.random });
  t.teardown(() => store.close());
  const log: string[] = [];
  const admin = new EtcdAdmin(access);
  t.teardown(() => admin.close());
  const upkeep = new EtcdUpkeep({
    store,
    openAdmin: async () => admin,
    quotaBytes,
    clock: realClock,
    log: pino({ base: null }, { write: (line: string) => log.push((JSON.parse(line) as { msg: string }).msg) }),
  });
  const { signal } = new AbortController();
  t.equal(await upkeep.look(signal), false);
  const value = Buffer.alloc(500_000, 'x');
  let count = 0;
  const fill = async () => {
    for (;;) {
      const full = await store.create(`/registry/${count++}`, value).then(
        () => false,
        (error: { code?: string }) => error.code === 'noSpace',
      );
      if (full) return;
    }
  };
  // etcd may refuse writes early; a defragmentation frees space then.
  do await fill();
  while (!(await upkeep.look(signal)));
  t.equal(log.at(-1), 'etcd is full');
  await t.rejects(store.create('/registry/more', value), { code: 'noSpace' });
  const { kvs } = await store.range({ start: '/registry/', end: prefixEnd('/registry/') });
  for (const { key, modRevision } of kvs.slice(2)) await store.delete(key, modRevision);
  log.length = 0;
  t.equal(await upkeep.look(signal), false);
  t.ok((await store.create('/registry/more', value)).ok);
  t.equal((await store.range({ start: '/registry/0', end: '/registry/00', keysOnly: true })).kvs.length, 1);
  t.equal(log.filter((line) => line === 'defragmented etcd').length, 3, log.join('; '));
  t.ok(log.includes('etcd has free space and takes writes again'));
});
