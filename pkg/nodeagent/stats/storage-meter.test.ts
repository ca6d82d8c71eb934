import { spawnSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { diskUsage } from '#nodeagent/stats/disk-usage.js';
import { StorageMeter } from '#nodeagent/stats/storage-meter.js';
import { observeVolumes } from '#nodeagent/stats/volume-metrics.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';

t.test('volumes and logs of pods are measured once per period at most', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'orch-storage-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const pod = testPod('web');
  const uid = pod.metadata.uid ?? '';
  const volume = join(dir, 'pods', uid, 'volumes', 'orch.io~empty-dir', 'a data');
  const logs = join(dir, 'logs', `default_web_${uid}`, 'main');
  for (const each of [volume, logs]) await mkdir(each, { recursive: true });
  await writeFile(join(volume, 'file'), Buffer.alloc(1 << 20, 1));
  await writeFile(join(logs, '0.log'), Buffer.alloc(1 << 16, 1));
  let passedMs = 0;
  const meter = new StorageMeter({
    clock: { ...realClock, monotonic: () => passedMs },
    machine: new LocalMachine('/', realClock),
    podDir: (each) => join(dir, 'pods', each),
    podLogsDir: join(dir, 'logs'),
    periodMs: 60_000,
  });
  const measure = async () => (await meter.usage([pod])).get(uid);
  const first = await measure();
  const [usage] = first?.volumes ?? [];
  t.match(usage, { name: 'a data', plugin: 'empty-dir', inodesUsed: 2 });
  t.ok((usage?.usedBytes ?? 0) >= 1 << 20 && (usage?.usedBytes ?? 0) < 2 << 20, `${usage?.usedBytes}`);
  t.ok((usage?.filesystem?.capacityBytes ?? 0) > 0);
  t.equal(first?.logs.get('main')?.inodesUsed, 2);
  t.ok((first?.logs.get('main')?.usedBytes ?? 0) >= 1 << 16);
  await writeFile(join(volume, 'another'), 'x');
  t.equal(await measure(), first, 'within the period nothing is walked');
  passedMs = 60_000;
  // Cached values are returned; new ones follow in a subsequent call.
  let newest = await measure();
  for (let i = 0; i < 1000 && newest === first; i++) {
    await realClock.sleep(10);
    newest = await measure();
  }
  t.equal(newest?.volumes[0]?.inodesUsed, 3);
  t.equal((await meter.usage([])).size, 0, 'what is gone is forgotten');
});

t.test('directories of any size are measured as by du', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'orch-usage-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const [small, large, gone] = ['small', 'large', 'gone'].map((name) => join(dir, name)) as [string, string, string];
  for (const [folder, files] of [
    [small, 20],
    [large, 400],
  ] as const) {
    await mkdir(join(folder, 'below'), { recursive: true });
    for (let i = 0; i < files; i++) await writeFile(join(folder, 'below', `${i}`), 'x'.repeat(i * 100));
    await link(join(folder, 'below', '1'), join(folder, 'again'));
    await symlink('/', join(folder, 'everything'));
  }
  const usages = await diskUsage([small, gone, large]);
  t.same([...usages.keys()].sort(), [large, small]);
  for (const folder of [small, large]) {
    const counted = (...flags: string[]) =>
      Number(
        spawnSync('du', ['-sx', ...flags, folder])
          .stdout.toString()
          .split('\t')[0],
      );
    t.same(usages.get(folder), { usedBytes: counted('-B1'), inodesUsed: counted('--inodes') }, folder);
  }
});

t.test('usage of a claim is reported once', async (t) => {
  const registry = new Registry();
  const filesystem = { availableBytes: 70, capacityBytes: 100, usedBytes: 30, inodesFree: 8, inodes: 10 };
  const usage = { plugin: 'csi', filesystem, usedBytes: 30, inodesUsed: 2 };
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: 'disk' } },
    { name: 'tmp', emptyDir: {} },
  ];
  const pods = ['a', 'b'].map((name) => testPod(name, { volumes }));
  let reads = 0;
  const meter: Pick<StorageMeter, 'usage'> = {
    async usage(podList) {
      reads++;
      const volumes = ['data', 'tmp'].map((name) => ({ ...usage, name }));
      return new Map(podList.map((pod) => [pod.metadata.uid ?? '', { timeMs: 0, volumes, logs: new Map() }]));
    },
  };
  observeVolumes({ registry, dialect: orchDialect, meter, pods: () => pods });
  const text = await metricsText(registry, undefined);
  const labels = '{namespace="default",persistentvolumeclaim="disk"}';
  for (const [name, value] of [
    ['capacity_bytes', 100],
    ['available_bytes', 70],
    ['used_bytes', 30],
    ['inodes', 10],
    ['inodes_free', 8],
    ['inodes_used', 2],
  ] as const)
    t.equal(
      text.split('\n').filter((line) => line === `nodeagent_volume_stats_${name}${labels} ${value}`).length,
      1,
      name,
    );
  t.equal(reads, 1);
  pods.length = 0;
  t.notMatch(await metricsText(registry, undefined), 'disk', 'an unused claim is removed');
});
