import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Container } from '#api/core/v1/types.gen.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';

const skip = (await skipWithoutContainers()) || (availableParallelism() < 2 ? 'needs two processors' : false);

/** `Cpus_allowed_list` and `Mems_allowed_list` of a process of the container; undefined if none runs. */
async function allowed(containerID: string): Promise<{ cpus: string; memory: string } | undefined> {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    if (containerID === '' || !cgroups.includes(containerID)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)$`, 'm').exec(status)?.[1] ?? '';
    return { cpus: field('Cpus_allowed_list'), memory: field('Mems_allowed_list') };
  }
  return undefined;
}

t.test('the kernel lets containers run only on their CPUs and memory', { skip, timeout: 120_000 }, async (t) => {
  const fixture = await containerdFixture(t, {
    args: [
      ...['--cpu-manager-policy=static', '--reserved-cpus=0', '--cpu-manager-reconcile-period=500ms'],
      ...['--memory-manager-policy=Static', '--eviction-hard=memory.available<1Mi', '--reserved-memory=0:memory=1Mi'],
      '--topology-manager-policy=single-numa-node',
    ],
  });
  const { api, dir, images, isReady, status } = fixture;
  const last = availableParallelism() - 1;
  const all = `0-${last}`;
  const container = (resources?: Container['resources']): Container => ({
    ...{ name: 'main', image: images.busybox, command: ['sleep', '1000'] },
    ...(resources && { resources }),
  });
  const allowedOf = (name: string) =>
    allowed(status(name)?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? '');
  const runs = async (name: string, cpus: string) => {
    const isThere = async () => (await allowedOf(name))?.cpus === cpus;
    await eventually(isThere, `${name} on ${cpus}: ${fixture.describe(name)}`, 20_000);
    t.pass(`${name} runs on ${cpus}`);
  };
  const amounts = { cpu: '1', memory: '64Mi' };
  const short = { terminationGracePeriodSeconds: 1 };

  api.seed(pods, testPod('shared', { ...short, containers: [container()] }));
  await eventually(() => isReady('shared'), 'shared is ready');
  await runs('shared', all);
  const own = testPod('own', { ...short, containers: [container({ requests: amounts, limits: amounts })] });
  api.seed(pods, own);
  await eventually(() => isReady('own'), 'own is ready');
  await runs('own', '1');
  t.match(await allowedOf('own'), { memory: '0' }, 'memory of its node');
  const rest = last === 1 ? '0' : last === 2 ? '0,2' : `0,2-${last}`;
  await runs('shared', rest);

  const file = join(dir, 'agent', 'cpu_manager_state');
  const entries = { [own.metadata.uid ?? '']: { main: '1' } };
  t.match(JSON.parse(await readFile(file, 'utf8')), { policyName: 'static', defaultCpuSet: rest, entries });
  await fixture.restartAgent();
  await eventually(() => isReady('own'), 'own is ready again');
  await runs('own', '1');
  t.match(JSON.parse(await readFile(file, 'utf8')), { entries }, 'the next agent keeps the assignment');
  await fixture.remove('own');
  await runs('shared', all);
  t.notOk('entries' in JSON.parse(await readFile(file, 'utf8')), 'nothing is assigned any more');
  await fixture.remove('shared');
});
