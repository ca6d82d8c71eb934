import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { stopRuntime } from '#cluster/supervise/runtime.js';
import { type ContainerdOptions, containerdPaths, startContainerd } from '#containerd/containerd.js';
import { takeEveryStep } from '#containerd/every-step.js';
import { remainsOf } from '#containerd/remains.js';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import type { PodSandboxConfig } from '#nodeagent/cri/cri.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { mountsOn } from '#nodeagent/files/mounts.js';
import { buildImageArchive, clusterImages } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';

const run = promisify(execFile);
const skip = await skipWithoutContainers();

const sandbox: PodSandboxConfig = {
  metadata: { name: 'p', uid: 'u', namespace: 'default', attempt: 0 },
  hostname: 'p',
  logDirectory: '',
  portMappings: [],
  labels: {},
  annotations: {},
  linux: { securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } } },
};

async function runtimeWithSandbox(t: Test) {
  const dir = await mkdtemp(join(tmpdir(), 'rt-'));
  // A random range, since the bridge of an earlier run may still exist.
  const podCIDR = `10.${200 + Math.floor(Math.random() * 40)}.${Math.floor(Math.random() * 256)}.0/24`;
  const options: ContainerdOptions = { dir, podCIDR, sandboxImage: clusterImages('test').pause, detached: true };
  t.teardown(async () => {
    await stopRuntime(dir, () => undefined);
    await rm(dir, { recursive: true });
  });
  const containerd = await startContainerd(options);
  await buildImageArchive({ file: join(dir, 'images.tar'), product: 'test' });
  await loadImageArchive(join(dir, 'images.tar'), containerd.socket);
  const cri = new GrpcCRI({ endpoint: containerd.endpoint, clock: realClock });
  t.teardown(() => cri.close());
  await cri.runPodSandbox(sandbox);
  const { tasks } = await remainsOf(dir);
  const namespace = tasks[0]?.networkNamespace ?? '';
  t.ok(existsSync(namespace), `the sandbox has the network ${namespace}`);
  return { dir, containerd, namespace };
}

async function nothingIsLeft(t: Test, dir: string, namespace: string): Promise<void> {
  const { bridge, stateDir } = containerdPaths(dir);
  t.same(await remainsOf(dir), { tasks: [], shims: [] });
  t.notOk(existsSync(namespace), 'its network namespace');
  t.same(await mountsOn(namespace), []);
  t.notOk(existsSync(stateDir));
  t.notMatch((await run('ip', ['-o', 'link'])).stdout, bridge);
}

t.test('a busy network namespace, which is mounted twice, is removed', { skip }, async (t) => {
  const { dir, namespace } = await runtimeWithSandbox(t);
  await run('mount', ['--bind', namespace, namespace]);
  const problems: string[] = [];
  await stopRuntime(dir, (problem) => problems.push(problem));
  t.match(problems, [/busy/], 'the runtime cannot remove it');
  await nothingIsLeft(t, dir, namespace);
});

t.test('a killed runtime that cannot be restarted is removed', { skip }, async (t) => {
  const { dir, containerd, namespace } = await runtimeWithSandbox(t);
  process.kill(containerd.pid, 'SIGKILL');
  await rm(join(dir, 'config.toml'));
  const problems: string[] = [];
  await stopRuntime(dir, (problem) => problems.push(problem));
  t.equal(problems.length, 1);
  await nothingIsLeft(t, dir, namespace);
});

t.test('a removal takes every step, and names the failed ones', async (t) => {
  const steps: string[] = [];
  const fails = () => {
    throw new Error('device or resource busy');
  };
  const removal = takeEveryStep([
    ['one', fails],
    ['two', () => steps.push('two')],
    ['three', () => takeEveryStep([['four', fails]])],
  ]);
  await t.rejects(removal, {
    message: 'left behind: one: device or resource busy; four: device or resource busy',
  });
  t.same(steps, ['two']);
});
