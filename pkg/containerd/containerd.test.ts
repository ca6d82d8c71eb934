import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { containerdPaths, runningContainerd, startContainerd } from '#containerd/containerd.js';
import { cleanContainerd } from '#containerd/teardown.js';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { clusterImages } from '#nodeagent/images/busybox.js';

const skip = await skipWithoutContainers();

t.test('a containerd that exits during the start is replaced', { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'cd-'));
  const dying = spawn('sh', ['-c', `read line # ${join(dir, 'config.toml')}`], { stdio: ['pipe', 'ignore', 'ignore'] });
  t.teardown(() => dying.kill('SIGKILL'));
  const { pidFile } = containerdPaths(dir);
  await mkdir(dirname(pidFile), { recursive: true });
  await writeFile(pidFile, `${dying.pid}\n`);
  t.equal(await runningContainerd(dir), dying.pid, 'it counts as the containerd of the folder');
  const podCIDR = `10.${200 + Math.floor(Math.random() * 40)}.${Math.floor(Math.random() * 256)}.0/24`;
  const clock: Clock = {
    ...realClock,
    // The process exits between two checks.
    sleep(ms, signal) {
      dying.stdin.end();
      return realClock.sleep(ms, signal);
    },
  };
  const containerd = await startContainerd({ dir, podCIDR, sandboxImage: clusterImages('test').pause, clock });
  t.teardown(async () => {
    await containerd.stop();
    await cleanContainerd(dir);
    await rm(dir, { recursive: true });
  });
  t.not(containerd.pid, dying.pid);
  t.equal(await runningContainerd(dir), containerd.pid);
});
