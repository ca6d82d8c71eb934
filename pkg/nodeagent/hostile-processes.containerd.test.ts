/** Containers that fork endlessly, ignore signals, and have more variables than the kernel accepts. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { configmaps, events, pods } from '#api/core/v1/resources.gen.js';
import type { Container, ContainerStatus, PodStatus } from '#api/core/v1/types.gen.js';
import { containerdFixture, skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';

const skip = await skipWithoutContainers();
t.setTimeout(180_000);

t.test('hostile processes', { skip }, async (t) => {
  const fixture = await containerdFixture(t);
  const { api, images, status, cri } = fixture;
  const shell = (script: string, more: Partial<Container> = {}): Container => ({
    ...{ name: 'main', image: images.busybox, imagePullPolicy: 'Never', command: ['sh', '-c', script] },
    ...more,
  });
  const until = async (name: string, condition: () => boolean | Promise<boolean>) => {
    await eventually(condition, `pod ${name}`, 60_000).catch((error) => {
      throw new Error(fixture.describe(name), { cause: error });
    });
  };
  const main = (name: string): ContainerStatus | undefined => status(name)?.containerStatuses?.[0];
  const ended = (name: string) => main(name)?.state?.terminated;

  await t.test('ten thousand variables are passed, and one too large for the kernel is an error', async (t) => {
    const half = Array.from({ length: 5000 }, (_, n) => n);
    const data = Object.fromEntries(half.map((n) => [`MAP_${n}`, `value ${n}`]));
    api.seed(configmaps, { metadata: { name: 'many', namespace: 'default' }, data });
    const env = half.map((n) => ({ name: `OWN_${n}`, value: `$(MAP_${n})` }));
    const count = 'env | grep -cE "^(MAP|OWN)_" > /dev/termination-log; echo $OWN_4999 >> /dev/termination-log';
    const envFrom = [{ configMapRef: { name: 'many' } }];
    const spec = { restartPolicy: 'Never' };
    api.seed(pods, testPod('many', { ...spec, containers: [shell(count, { env, envFrom })] }));
    const large = { name: 'LARGE', value: 'x'.repeat(200_000) };
    api.seed(pods, testPod('large', { ...spec, containers: [shell('true', { env: [large] })] }));
    await until('many', () => ended('many') !== undefined);
    t.match(ended('many'), { exitCode: 0, message: '10000\nvalue 4999\n' });
    await until('large', () => ended('large') !== undefined);
    t.match(ended('large'), { exitCode: /^(1|128)$/ });
    await Promise.all(['many', 'large'].map((name) => fixture.remove(name)));
  });

  await t.test('a fork bomb is limited to its pod and the node keeps working', async (t) => {
    // Each process forks two more and retries after failures.
    const bomb = 'bomb() { while :; do bomb & sleep 1; done; }; bomb 2>/dev/null';
    const graceful = { terminationGracePeriodSeconds: 1 };
    api.seed(pods, testPod('bomb', { ...graceful, restartPolicy: 'Never', containers: [shell(bomb)] }));
    await until('bomb', () => main('bomb')?.state?.running !== undefined);
    const id = main('bomb')?.containerID?.split('//')[1] ?? '';
    const [pid = ''] = await processesOf(id);
    const limited = await cgroupOf(pid, 'pids');
    const limit = Number(await readFile(join(limited, 'pids.max'), 'utf8'));
    t.equal(limit, 200);
    const current = async () => Number(await readFile(join(limited, 'pids.current'), 'utf8'));
    await until('bomb', async () => (await current()) >= limit - 5);
    t.ok((await current()) <= limit);
    api.seed(pods, testPod('beside', { restartPolicy: 'Never', containers: [shell('true')] }));
    await until('beside', () => status('beside')?.phase === 'Succeeded');
    await Promise.all(['bomb', 'beside'].map((name) => fixture.remove(name)));
    t.same(await processesOf(id), []);
    t.same(await cri.listPodSandbox(), []);
  });

  await t.test('a process that ignores SIGTERM is killed after the grace period', async (t) => {
    const codes = new Set<number>();
    const stop = api.intercept(({ verb, subresource, body }) => {
      if (verb !== 'patch' || subresource !== 'status') return undefined;
      for (const { state } of (body as { status?: PodStatus }).status?.containerStatuses ?? [])
        if (state?.terminated !== undefined) codes.add(state.terminated.exitCode);
      return undefined;
    });
    const deaf = 'trap "" TERM INT HUP; echo deaf > /dev/termination-log; while :; do sleep 1; done';
    api.seed(pods, testPod('deaf', { terminationGracePeriodSeconds: 1000, containers: [shell(deaf)] }));
    await until('deaf', () => main('deaf')?.state?.running !== undefined);
    await fixture.remove('deaf', 2);
    stop();
    t.same([...codes], [137]);
  });

  await t.test('probe output beyond the message size is reported as an error', async (t) => {
    const endless = {
      exec: { command: ['head', '-c', '20000000', '/dev/zero'] },
      periodSeconds: 1,
      timeoutSeconds: 10,
    };
    const probed = shell('exec sleep 1000', { readinessProbe: endless });
    api.seed(pods, testPod('talker', { terminationGracePeriodSeconds: 1, containers: [probed] }));
    const probeEvent = () =>
      api
        .list(events)
        .flatMap(({ involvedObject, message = '' }) => (involvedObject.name === 'talker' ? [message] : []))
        .find((message) => message.startsWith('Readiness probe errored: '));
    await until('talker', () => probeEvent() !== undefined);
    t.notOk(main('talker')?.ready);
    t.ok(main('talker')?.state?.running);
    await fixture.remove('talker');
  });
});

/** Returns the PIDs whose cgroup paths contain the container's ID. */
async function processesOf(container: string): Promise<string[]> {
  const pids: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    if (cgroups.includes(container)) pids.push(pid);
  }
  return pids;
}

/** Returns the pod's cgroup directory: the container's parent in the controller's hierarchy. */
async function cgroupOf(pid: string, controller: string): Promise<string> {
  const lines = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).trim().split('\n');
  const own = lines.find((line) => line.split(':')[1]?.split(',').includes(controller));
  const path = (own ?? lines.find((line) => line.startsWith('0::')))?.split(':').slice(2).join(':') ?? '';
  return join('/sys/fs/cgroup', own === undefined ? '' : controller, path, '..');
}
