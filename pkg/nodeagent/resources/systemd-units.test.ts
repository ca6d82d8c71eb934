import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import type { CgroupVersion } from '#nodeagent/resources/cgroup-settings.js';
import { CgroupTree } from '#nodeagent/resources/cgroup-tree.js';
import { PodCgroups } from '#nodeagent/resources/cgroups.js';
import { busctlRunner, limitProperties, SystemdUnits } from '#nodeagent/resources/systemd-units.js';
import { FakeCgroupFiles } from '#nodeagent/resources/testing/fake-cgroup-files.js';

const target = ['org.freedesktop.systemd1', '/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager'];
const uid = '0f-1a';
const slice = 'kubepods-burstable-pod0f_1a.slice';
const place = `/kubepods.slice/kubepods-burstable.slice/${slice}`;
const pod: Pod = {
  metadata: { name: 'p', uid },
  spec: { containers: [{ name: 'main', resources: { requests: { cpu: '100m' } } }] },
};

function fixture(version: CgroupVersion) {
  const files = new FakeCgroupFiles(version);
  const calls: string[][] = [];
  const answers: (string | undefined)[] = [];
  const operations: string[] = [];
  const units = new SystemdUnits(async (args) => {
    calls.push(args.slice(4 + target.length));
    const stderr = answers.shift();
    if (stderr !== undefined) throw Object.assign(new Error('exit status 1'), { stderr });
  }, version);
  const clock = new VirtualClock();
  const tree = new CgroupTree({ files, clock, mountPoint: '/cg', version, pageSizes: [], units });
  const cgroups = new PodCgroups({
    ...{ tree, path: '/kubepods', pidsLimit: 50, memoryQoS: false, scopePrefix: 'cri-containerd' },
    quota: { enforced: true, periodMicros: 100_000 },
    onChange: async () => undefined,
    onOperation: (operation) => operations.push(operation),
    clock,
    onRejected: (_path, error) => {
      throw error;
    },
  });
  return { files, calls, answers, operations, units, cgroups };
}

for (const version of [1, 2] as const) {
  t.test(`version ${version}: a pod is a systemd slice`, async (t) => {
    const { files, calls, answers, operations, cgroups } = fixture(version);
    t.equal(cgroups.path, '/kubepods.slice');
    t.equal(cgroups.parentOf(pod), place, "the runtime's cgroup parent");
    t.equal(cgroups.containerPath(pod, 'c1'), `${place}/cri-containerd-c1.scope`);
    await cgroups.create(pod);
    const io = version === 2 ? 'IOAccounting' : 'BlockIOAccounting';
    t.same(calls, [
      [
        ...['StartTransientUnit', 'ssa(sv)a(sa(sv))', slice, 'replace', '7'],
        ...['Description', 's', `libcontainer container ${slice}`],
        ...['Wants', 'as', '1', 'kubepods-burstable.slice'],
        ...['MemoryAccounting', 'b', 'true', 'CPUAccounting', 'b', 'true', io, 'b', 'true'],
        ...['TasksAccounting', 'b', 'true', 'DefaultDependencies', 'b', 'false', '0'],
      ],
      [
        ...['SetUnitProperties', 'sba(sv)', slice, 'true', '2'],
        ...(version === 2 ? ['CPUWeight', 't', '4'] : ['CPUShares', 't', '102']),
        ...['TasksMax', 't', '50'],
      ],
    ]);
    const shares = version === 2 ? { 'cpu.weight': '4' } : { 'cpu.shares': '102' };
    t.same(files.set(place), { ...shares, 'pids.max': '50' }, 'the files are set, too');
    t.same(await cgroups.list(), [uid]);

    calls.length = 0;
    answers.push('Call failed: Unit kubepods-burstable-pod0f_1a.slice not loaded.');
    await cgroups.remove(uid);
    t.same(calls, [['StopUnit', 'ss', slice, 'replace']]);
    t.same(await cgroups.list(), []);
    await cgroups.remove(uid);
    t.equal(calls.length, 1, 'what is gone is not stopped again');
    t.same(operations.slice(0, 3), ['create', 'update', 'destroy'], 'each is measured');
  });
}

t.test('an existing slice is accepted, and other errors of systemd are thrown', async (t) => {
  const { units, answers } = fixture(2);
  answers.push(`Call failed: Unit ${slice} was already loaded or has a fragment file.`);
  await units.start(slice, 'kubepods-burstable.slice');
  answers.push('Call failed: Access denied');
  await t.rejects(units.start(slice, 'kubepods-burstable.slice'), {
    message: 'systemd: StartTransientUnit: Call failed: Access denied',
  });
});

t.test('limits are converted to unit properties', async (t) => {
  const quota = (quotaMicros: number) => limitProperties({ cpuQuota: { quotaMicros, periodMicros: 100_000 } }, 2);
  const period = ['CPUQuotaPeriodUSec', 't', '100000'];
  t.same(quota(-1), [period, ['CPUQuotaPerSecUSec', 't', '18446744073709551615']]);
  t.same(quota(50_000), [period, ['CPUQuotaPerSecUSec', 't', '500000']]);
  t.same(quota(12_345), [period, ['CPUQuotaPerSecUSec', 't', '130000']], 'rounded up to whole percents');
  const memory = { memoryBytes: 5, memoryMinBytes: 4 };
  t.same(limitProperties(memory, 1), [['MemoryLimit', 't', '5']]);
  t.same(limitProperties(memory, 2), [
    ['MemoryMax', 't', '5'],
    ['MemoryMin', 't', '4'],
  ]);
  t.same(limitProperties({ hugePages: { 2048: 1 } }, 2), []);
});

t.test('busctl is run with its arguments, and errors include its output', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'orch-busctl-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const program = join(dir, 'busctl');
  await writeFile(program, '#!/bin/sh\necho "Call failed: $*" >&2\nexit 1\n');
  await chmod(program, 0o755);
  const units = new SystemdUnits(busctlRunner(program), 2);
  await t.rejects(units.stop(slice), {
    message: `systemd: StopUnit: Call failed: --system --quiet -- call ${target.join(' ')} StopUnit ss ${slice} replace`,
  });
});

t.test('the name of the root slice is no option of busctl', async (t) => {
  const calls: (readonly string[])[] = [];
  const units = new SystemdUnits(async (args) => void calls.push(args), 2);
  await units.start('kubepods.slice', '-.slice');
  const [args = []] = calls;
  t.same(args.slice(0, 4), ['--system', '--quiet', '--', 'call'], 'options end before the call');
  t.ok(args.indexOf('-.slice') > 3, 'the parent of the first slice comes after them');
});
