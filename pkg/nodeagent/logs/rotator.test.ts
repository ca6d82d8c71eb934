import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { DiskLogFiles } from '#nodeagent/logs/disk-log-files.js';
import { LogLinks, linkName } from '#nodeagent/logs/log-links.js';
import { LogRotator } from '#nodeagent/logs/rotator.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';

async function directory(t: { teardown(fn: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'rotate-'));
  t.teardown(() => rm(dir, { recursive: true }));
  return dir;
}

t.test('all but the latest rotated log are compressed, and leftovers of a crash are removed', async (t) => {
  const dir = await directory(t);
  const logPath = join(dir, '0.log');
  const clock = new VirtualClock();
  const container = { id: 'c', state: 'CONTAINER_RUNNING', logPath };
  const rotator = new LogRotator({
    cri: { reopenContainerLog: async () => writeFile(logPath, '') },
    ...{ files: new DiskLogFiles(), clock, log: silentLogger, maxBytes: 10, maxFiles: 4 },
    pods: () => [{ containers: [container] } as unknown as PodRuntime],
  });
  for (let i = 0; i < 5; i++) {
    await writeFile(logPath, `the log number ${i}`);
    await rotator.rotateAll();
    await clock.advance(1000);
  }
  const names = (await readdir(dir)).sort();
  t.equal(names.length, 4);
  const [, ...rotated] = names;
  t.match(rotated, [/^0\.log\.\d{8}-\d{6}\.gz$/, /^0\.log\.\d{8}-\d{6}\.gz$/, /^0\.log\.\d{8}-\d{6}$/]);
  t.equal(gunzipSync(await readFile(join(dir, rotated[0] ?? ''))).toString(), 'the log number 2');
  t.equal(await readFile(join(dir, rotated[2] ?? ''), 'utf8'), 'the log number 4');
  await writeFile(join(dir, `${rotated[2]}.tmp`), 'half');
  await writeFile(join(dir, `${rotated[1]?.slice(0, -3)}`), 'again');
  await writeFile(logPath, 'the log number 5');
  await rotator.rotateAll();
  const remaining = await readdir(dir);
  t.equal(remaining.length, 4);
  t.notOk(remaining.some((name) => name.endsWith('.tmp')));
});

t.test('links to missing logs are removed', async (t) => {
  const dir = await directory(t);
  const links = new LogLinks(join(dir, 'containers'));
  const logged = { pod: 'p', namespace: 'ns', container: 'main', id: 'c'.repeat(64) };
  await links.add(logged, join(dir, 'pods', 'none.log'));
  t.same(await readdir(join(dir)), []);
  const path = join(dir, 'some.log');
  await writeFile(path, '');
  await links.add(logged, path);
  await links.add(logged, path);
  const link = join(dir, 'containers', `p_ns_main-${'c'.repeat(64)}.log`);
  t.equal(await readlink(link), path);
  await links.removeDead(dir);
  t.equal(await readlink(link), path);
  await rm(path);
  await links.removeDead(join(dir, 'elsewhere'));
  t.equal(await readlink(link), path, "another's");
  await links.removeDead(dir);
  t.same(await readdir(join(dir, 'containers')), []);
  await links.remove(logged);
  t.equal(linkName({ ...logged, pod: 'p'.repeat(253) }).length, 255);
});
