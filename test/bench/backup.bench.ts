/**
 * Backup and restore of a store full of pods, compared object by object. `OBJECTS=50000`.
 *
 * Wall time on this machine, mostly of its disk and etcd.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { restoreBackup } from '#cluster/backup/restore.js';
import { saveBackup } from '#cluster/backup/save.js';
import { layoutOf } from '#cluster/config/layout.js';
import { type ClusterSettings, writeSettings } from '#cluster/config/settings.js';
import { formatBytes } from '#cluster/terminal/format.js';
import { EtcdAdmin } from '#etcd-admin/admin.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { encodeStored } from '#storage/layout.js';
import type { KeyValue } from '#storage/store.js';
import { benchPod } from '#test/bench/pod.js';
import { startEtcd } from '#test/etcd.js';

const count = Number(process.env['OBJECTS'] ?? 50_000);
const atOnce = 200;
const folder = mkdtempSync(join(tmpdir(), 'backup-bench-'));
const settings: ClusterSettings = {
  ...{ dialect: 'orch', runtime: 'simulated', store: 'etcd', nodes: ['node-0'] },
  ...{ apiPort: 6443, etcdClientPort: 2379, etcdPeerPort: 2380 },
  ...{ serviceRange: '10.96.0.0/16', podRange: '10.244.0.0/16' },
};

async function timed<T>(what: string, work: () => Promise<T>, limitSeconds?: number): Promise<T> {
  const started = realClock.monotonic();
  const result = await work();
  const seconds = (realClock.monotonic() - started) / 1000;
  const limit =
    limitSeconds === undefined ? '' : `   limit ${limitSeconds} s: ${seconds <= limitSeconds ? 'holds' : 'MISSED'}`;
  console.log(`${what.padEnd(40)} ${seconds.toFixed(2).padStart(7)} s${limit}`);
  return result;
}

function stored(name: string): Buffer {
  const { metadata, ...rest } = benchPod(name);
  return encodeStored({ ...rest, metadata: { ...metadata } });
}

async function everything(endpoint: string): Promise<KeyValue[]> {
  const store = new EtcdStore({ endpoints: [endpoint], clock: realClock, random: Math.random });
  const keyValues: KeyValue[] = [];
  for (let start = '/registry/'; ; start = `${keyValues.at(-1)?.key}\0`) {
    const { kvs } = await store.range({ start, end: '/registry0', limit: 5000 });
    if (kvs.length === 0) break;
    keyValues.push(...kvs);
  }
  await store.close();
  return keyValues;
}

try {
  const layout = layoutOf(join(folder, 'data'));
  mkdirSync(layout.pki, { recursive: true });
  writeFileSync(join(layout.pki, 'ca.crt'), 'a certificate');
  writeSettings(layout.settings, settings);
  const etcd = await startEtcd();
  const access = { endpoints: [etcd.endpoint], clock: realClock };
  const store = new EtcdStore({ ...access, random: Math.random });
  await timed(`${count} pods written`, async () => {
    for (let at = 0; at < count; at += atOnce) {
      const names = Array.from({ length: Math.min(atOnce, count - at) }, (_, i) => `pod-${at + i}`);
      await Promise.all(names.map((name) => store.create(`/registry/pods/default/${name}`, stored(name))));
    }
  });
  const admin = new EtcdAdmin(access);
  const snapshot = () => admin.snapshot();
  const saving = { to: join(folder, 'to'), layout, version: dialect.version, dialect: dialect.name };
  const saved = await timed(
    'saved',
    () => saveBackup({ ...saving, clock: realClock, store, snapshot, members: async () => [] }),
    10,
  );
  admin.close();
  await store.close();
  console.log(`  ${formatBytes(saved.bytes)}, ${process.memoryUsage().rss >> 20} MiB resident`);
  const before = await everything(etcd.endpoint);
  await etcd.stop();
  const target = layoutOf(join(folder, 'restored'));
  const restored = await timed(
    'verified, restored, and etcd answers',
    async () => {
      const path = process.env['PATH'] ?? '';
      await restoreBackup({ from: saved.folder, layout: target, replace: false, path, progress: () => undefined });
      return startEtcd({ dataDir: target.etcd });
    },
    30,
  );
  const after = await everything(restored.endpoint);
  await restored.stop();
  const different = before.filter(
    ({ key, value, modRevision }, at) =>
      after[at]?.key !== key || after[at].modRevision !== modRevision || !after[at].value.equals(value),
  );
  console.log(`  ${before.length} objects before, ${after.length} after, ${different.length} of them different`);
  if (different.length > 0 || before.length !== after.length || before.length !== count) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
