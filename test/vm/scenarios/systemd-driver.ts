/** systemd as cgroup driver: slices and scopes, protected memory, and swap. */
import type { Container } from '#api/core/v1/types.gen.js';
import { pod, shell, sleeper, statusOf } from '#test/e2e/pods.js';
import type { Lab, Scenario } from '#test/vm/lab.js';
import { footprint, leftBehind } from '#test/vm/scenarios/footprint.js';

const flags = ['--nodeagent-arg=cgroup-driver=systemd', '--feature-gates=MemoryQoS=true,NodeSwap=true'];

export const systemdDriver: Scenario = {
  name: 'systemd-driver',
  what: 'systemd as cgroup driver: slices, limits, MemoryQoS, LimitedSwap and UnlimitedSwap, reboot, nothing left',
  async run(lab) {
    const { checks, cluster, machine } = lab;
    await machine.sh('fallocate -l 256M /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile');
    await machine.sh('echo "/swapfile none swap sw 0 0" >>/etc/fstab');
    const before = await footprint(machine);
    await cluster.install(...flags);
    await checks.part('slices', () => slices(lab));
    await checks.part('LimitedSwap', () => swap(lab, 'limited', '0'));
    await checks.part('the end of pods', () => endOfPods(lab));
    await checks.part('reboot', async () => {
      await machine.reboot();
      await cluster.eventually('the cluster answers again', () => cluster.get('kept'));
      await cluster.ready();
      const kept = await cluster.untilPod('kept', 'runs again', (each) => (statusOf(each)?.restartCount ?? 0) > 0);
      checks.equal(kept.status?.phase, 'Running', 'a pod is back after a reboot');
    });
    await checks.part('UnlimitedSwap', async () => {
      await cluster.uninstall();
      await cluster.install(...flags, '--nodeagent-arg=memory-swap-behavior=UnlimitedSwap');
      await swap(lab, 'unlimited', 'max');
    });
    await checks.part('uninstall', async () => {
      await cluster.remove();
      checks.equal(leftBehind(before, await footprint(machine)), {}, 'nothing is left of the cluster');
    });
  },
};

const container = (more: Partial<Container> = {}) => shell(sleeper, more);
const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '64Mi' } };

async function slices({ checks, cluster, machine }: Lab): Promise<void> {
  await cluster.create(pod('kept', [container({ resources })], { restartPolicy: 'Always' }));
  const kept = await cluster.podReady('kept');
  const uid = (kept.metadata.uid ?? '').replaceAll('-', '_');
  const files = ['memory.max', 'memory.high', 'memory.min', 'cpu.max', 'cpu.weight'].flatMap((name) => [
    name,
    `../${name}`,
  ]);
  const { path = '', ...inFiles } = await cluster.cgroup('kept', files);
  const slice = `node_[0-9a-f]{8}-orchpods-burstable-pod${uid}.slice`;
  checks.match(
    path,
    new RegExp(`/${slice}/cri-containerd-[0-9a-f]{64}\\.scope$`),
    'a container is a scope in the slice of its pod',
  );
  checks.equal(inFiles['memory.max'], '67108864', 'the limit of its memory');
  checks.equal(inFiles['../memory.max'], '67108864', 'the limit of the pod');
  checks.equal(
    inFiles['memory.high'],
    String(Math.floor((67_108_864 * 0.8) / 4096) * 4096),
    'its memory is throttled at 80 %',
  );
  checks.equal(inFiles['memory.min'], '33554432', 'the memory that it requests is protected');
  checks.equal(inFiles['../memory.min'], '33554432', 'that of the pod, too');
  checks.equal([inFiles['cpu.max'], inFiles['../cpu.max']], ['20000 100000', '20000 100000'], 'its quota');
  checks.equal([inFiles['cpu.weight'], inFiles['../cpu.weight']], ['4', '4'], 'its share');
  const name = path.split('/').at(-2) ?? '';
  const shown = await machine.sh(`systemctl show -p MemoryMax -p CPUQuotaPerSecUSec -p CPUWeight '${name}'`);
  checks.match(shown, /MemoryMax=67108864/, 'systemd knows the limit');
  checks.match(shown, /CPUQuotaPerSecUSec=200ms/, 'systemd knows the quota');
  await machine.sh('systemctl daemon-reload');
  const after = await cluster.cgroup('kept', ['memory.max', '../memory.max', '../memory.min', '../cpu.max']);
  checks.equal(
    [after['memory.max'], after['../memory.max'], after['../memory.min'], after['../cpu.max']],
    ['67108864', '67108864', '33554432', '20000 100000'],
    'limits stay when systemd reads its units again',
  );
  const summary = JSON.parse(await cluster.agent('/stats/summary')) as {
    readonly pods: readonly {
      readonly podRef: { readonly name: string };
      readonly memory?: { readonly usageBytes?: number };
    }[];
  };
  const usage = summary.pods.find(({ podRef }) => podRef.name === 'kept')?.memory?.usageBytes ?? 0;
  checks.ok(usage > 0, 'the summary finds the cgroup of the pod');
}

async function swap({ checks, cluster }: Lab, name: string, expected: string): Promise<void> {
  await cluster.create(pod(name, [container({ resources })]));
  await cluster.podReady(name);
  const files = await cluster.cgroup(name, ['memory.swap.max']);
  checks.equal(files['memory.swap.max'], expected, `swap of a container with a limit: ${name}`);
}

async function endOfPods({ checks, cluster, machine }: Lab): Promise<void> {
  const pods = await cluster.get('limited');
  const uid = (pods.metadata.uid ?? '').replaceAll('-', '_');
  await cluster.ctl('delete', 'pod', 'limited', '--wait=true');
  const units = `systemctl list-units --all --no-legend --plain | grep '${uid}' || true`;
  const left = await machine.until(units, (text) => text === '');
  checks.equal(left, '', 'the slice of a deleted pod is gone');
}
