import { spawn } from 'node:child_process';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { cgroupVersion } from '#nodeagent/node/prerequisites.js';
import { diskCgroupFiles } from '#nodeagent/resources/cgroup-files.js';
import type { CgroupVersion } from '#nodeagent/resources/cgroup-settings.js';
import { CgroupTree, cgroupMountPoint } from '#nodeagent/resources/cgroup-tree.js';
import { machineProcesses, SystemCgroups } from '#nodeagent/resources/system-cgroups.js';
import { FakeCgroupFiles } from '#nodeagent/resources/testing/fake-cgroup-files.js';

const kernels = 2;
const service = 30;
const own = 40;

function fixture(t: Test, version: CgroupVersion, { agent = '', system = '', isContained = false } = {}) {
  const clock = new VirtualClock();
  const files = new FakeCgroupFiles(version);
  const warnings: string[] = [];
  const tree = new CgroupTree({ files, clock, version, mountPoint: '/cg', pageSizes: [] });
  const cgroups = new SystemCgroups({
    ...{ tree, clock, agent, system },
    log: {
      ...silentLogger,
      warn: (...[about]: unknown[]) => void warnings.push(String((about as { err: Error }).err)),
    },
    processes: {
      own,
      isKernelThread: async (pid) => pid === kernels,
      cgroupsOf: async (pid) => files.membership(pid),
      isInHostPIDNamespace: async () => !isContained,
    },
  });
  for (const root of version === 2 ? ['/cg'] : ['cpu', 'memory', 'pids', 'hugetlb'].map((name) => `/cg/${name}`)) {
    for (const pid of [1, kernels, service, own]) files.enter(root, pid);
  }
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  return { clock, files, cgroups, warnings, signal: stop.signal };
}

for (const version of [1, 2] as const) {
  t.test(`version ${version}: processes are moved to their cgroups, repeatedly`, async (t) => {
    const { clock, files, cgroups, warnings, signal } = fixture(t, version, { agent: '/agent', system: '/all/system' });
    const top = version === 2 ? '/cg' : '/cg/memory';
    void cgroups.run(signal);
    await clock.advanceUntil(() => files.processesOf(`${top}/agent`).includes(own));
    t.same(files.processesOf(`${top}/all/system`), [service]);
    t.same(files.processesOf(top), [1, kernels], 'process 1 and the kernel stay');
    if (version === 1) {
      for (const name of ['cpu', 'pids', 'hugetlb']) t.same(files.processesOf(`/cg/${name}/agent`), [own]);
    }
    const late = 50;
    for (const root of version === 2 ? ['/cg'] : ['cpu', 'memory', 'pids', 'hugetlb'].map((name) => `/cg/${name}`))
      files.enter(root, late);
    await clock.advanceUntil(() => files.processesOf(`${top}/all/system`).includes(late));
    t.same(files.processesOf(`${top}/agent`), [own], 'what is there is not moved again');
    t.same(warnings, []);
  });
}

t.test('a failure is reported once', async (t) => {
  t.throws(() => fixture(t, 2, { system: '/' }), { message: 'system container cannot be root ("/")' });
  const contained = fixture(t, 2, { agent: '/agent', isContained: true });
  await contained.cgroups.ensure();
  await contained.cgroups.ensure();
  t.same(contained.warnings, ['Error: the agent runs in its own PID namespace and cannot be moved to another cgroup']);
  t.same(contained.files.processesOf('/cg'), [1, kernels, service, own]);
  const stubborn = fixture(t, 2, { system: '/system' });
  stubborn.files.refuse('cgroup.procs', 'EBUSY');
  await stubborn.cgroups.ensure();
  t.same(stubborn.warnings, ['Error: failed to move PID 40 into the system container "/system"']);
});

const version = await cgroupVersion();
const tree = new CgroupTree({
  ...{ files: diskCgroupFiles, clock: realClock, mountPoint: cgroupMountPoint },
  ...{ version, pageSizes: [] },
});
const agent = `/orch-test-${process.pid}`;
const skip = await tree.create(agent).then(
  () => false,
  () => 'cannot create cgroups',
);

t.test('a real process is moved', { skip }, async (t) => {
  const child = spawn('sleep', ['300'], { stdio: 'ignore' });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await tree.remove(agent);
  });
  // Unprivileged users cannot read the namespaces of process 1.
  const processes = { ...machineProcesses, own: child.pid ?? 0, isInHostPIDNamespace: async () => true };
  const cgroups = new SystemCgroups({ tree, processes, clock: realClock, log: silentLogger, agent, system: '' });
  await cgroups.ensure();
  t.ok(await tree.holds(agent, await processes.cgroupsOf(processes.own)), 'it is where it should be');
  t.notOk(await processes.isKernelThread(processes.own));
});
