import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { StorageMeter } from '#nodeagent/stats/storage-meter.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';

t.test('volumes and logs of pods are measured at most once in a period', async (t) => {
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
    machine: new LocalMachine('/'),
    podDir: (each) => join(dir, 'pods', each),
    podLogsDir: join(dir, 'logs'),
    periodMs: 60_000,
  });
  const measure = async () => (await meter.usage([pod])).get(uid);
  const first = await measure();
  const [found] = first?.volumes ?? [];
  t.match(found, { name: 'a data', plugin: 'empty-dir', inodesUsed: 2 });
  t.ok((found?.usedBytes ?? 0) >= 1 << 20 && (found?.usedBytes ?? 0) < 2 << 20, `${found?.usedBytes}`);
  t.ok((found?.filesystem?.capacityBytes ?? 0) > 0);
  t.equal(first?.logs.get('main')?.inodesUsed, 2);
  t.ok((first?.logs.get('main')?.usedBytes ?? 0) >= 1 << 16);
  await writeFile(join(volume, 'another'), 'x');
  t.equal(await measure(), first, 'within the period nothing is walked');
  passedMs = 60_000;
  // What is known is told; the new figures come with a later question.
  let later = await measure();
  for (let i = 0; i < 1000 && later === first; i++) {
    await realClock.sleep(10);
    later = await measure();
  }
  t.equal(later?.volumes[0]?.inodesUsed, 3);
  t.equal((await meter.usage([])).size, 0, 'what is gone is forgotten');
});
