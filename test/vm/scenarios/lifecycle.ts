/** The life of a cluster on a machine: crashes, reboot, drain, upgrade, power off, and its end. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { pod, shell, sleeper, statusOf } from '#test/e2e/pods.js';
import { dataDir, type Lab, nextPrograms, nodeName, type Scenario } from '#test/vm/lab.js';
import { footprint, leftBehind } from '#test/vm/scenarios/footprint.js';

/** Longest life of pods after the machine is told to turn off; seconds. */
const grace = { all: 40, critical: 15 };

export const lifecycle: Scenario = {
  name: 'lifecycle',
  what: 'crashes of the agent and of containerd, reboot, drain, `orch upgrade`, power off in order, `orch uninstall` leaves nothing',
  async run(lab) {
    const { checks, cluster, machine } = lab;
    const before = await footprint(machine);
    const config = [
      'apiVersion: nodeagent.config.orch.io/v1beta1',
      'kind: NodeAgentConfiguration',
      `shutdownGracePeriod: ${grace.all}s`,
      `shutdownGracePeriodCriticalPods: ${grace.critical}s`,
    ].join('\n');
    await cluster.install();
    await cluster.create(pod('stays', [shell(sleeper)]));
    await cluster.podReady('stays');
    await checks.part('crashes', () => crashes(lab));
    await checks.part('reboot', () => reboot(lab));
    await checks.part('upgrade', () => upgrade(lab));
    await checks.part('drain', () => drain(lab));
    await checks.part('power off', async () => {
      // A graceful shutdown ends pods for good, so the reboot before was without one.
      await machine.sh(`cat >/root/nodeagent.yaml <<'END'\n${config}\nEND`);
      await cluster.uninstall();
      await cluster.install('--nodeagent-arg=config=/root/nodeagent.yaml');
      await powerOff(lab);
    });
    await checks.part('uninstall', async () => {
      await cluster.remove();
      await machine.sh('rm /root/nodeagent.yaml');
      checks.equal(leftBehind(before, await footprint(machine)), {}, 'nothing is left of the cluster');
    });
  },
};

const runOf = (each: Pod) => [statusOf(each)?.containerID, statusOf(each)?.restartCount];

async function crashes({ checks, cluster, machine }: Lab): Promise<void> {
  const before = runOf(await cluster.get('stays'));
  const started = await machine.sh('systemctl show -p MainPID --value orch');
  await machine.sh('systemctl kill --signal=KILL --kill-whom=main orch');
  await machine.until('systemctl show -p MainPID --value orch', (pid) => pid !== '0' && pid !== started);
  await cluster.eventually('the cluster answers again', () => cluster.get('stays'));
  await cluster.ready();
  checks.equal(runOf(await cluster.podReady('stays')), before, 'a container survives a crash of the agent');
  const containerd = await machine.sh('pgrep -x containerd');
  await machine.sh(`kill -9 ${containerd}`);
  await machine.until('pgrep -x containerd', (pid) => pid !== '' && pid !== containerd);
  await cluster.eventually('exec works again', () => cluster.exec('stays', 'true'));
  checks.equal(runOf(await cluster.podReady('stays')), before, 'a container survives a crash of containerd');
}

async function reboot({ checks, cluster, machine }: Lab): Promise<void> {
  const { metadata } = await cluster.get('stays');
  await machine.reboot();
  await cluster.eventually('the cluster answers again', () => cluster.get('stays'));
  await cluster.ready();
  const back = await cluster.untilPod('stays', 'runs again', (each) => (statusOf(each)?.restartCount ?? 0) > 0);
  checks.equal(back.metadata.uid, metadata.uid, 'the same pod is back after a reboot');
  await cluster.podReady('stays');
  checks.equal(await cluster.exec('stays', 'hostname'), 'stays', 'it works after a reboot');
  checks.equal(await machine.sh('systemctl --failed --no-legend'), '', 'no unit has failed after a reboot');
}

async function upgrade({ checks, cluster, machine }: Lab): Promise<void> {
  const before = runOf(await cluster.get('stays'));
  const output = await machine.sh(`${nextPrograms}/bin/orch upgrade 2>&1`, 300_000);
  checks.match(output, /feedbeef/, 'the upgrade names the next release');
  await cluster.eventually('the cluster answers again', () => cluster.get('stays'));
  await cluster.ready();
  checks.match(await cluster.ctl('get', '--raw', '/version'), /feedbeef00/, 'the next release serves');
  checks.equal(runOf(await cluster.podReady('stays')), before, 'a container goes on during the upgrade');
  const unit = await machine.sh('systemctl cat orch.service');
  checks.match(unit, new RegExp(`ExecStart=${nextPrograms}/`), 'the unit starts the next release');
}

async function drain({ checks, cluster }: Lab): Promise<void> {
  await cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'moves' },
    spec: {
      selector: { matchLabels: { app: 'moves' } },
      template: {
        metadata: { labels: { app: 'moves' } },
        spec: { terminationGracePeriodSeconds: 2, containers: [shell(sleeper)] },
      },
    },
  });
  await cluster.ctl('rollout', 'status', 'deployment/moves');
  await cluster.ctl('drain', nodeName, '--force', '--delete-emptydir-data', '--ignore-daemonsets');
  const left = await cluster.ctl('get', 'pods', '--field-selector=status.phase=Running', '-o', 'name');
  checks.equal(left, '', 'a drained node runs nothing');
  await cluster.ctl('uncordon', nodeName);
  await cluster.ctl('rollout', 'status', 'deployment/moves');
  await cluster.ctl('delete', 'deployment', 'moves');
}

/** Writes its name and the time since the boot when it ends. */
function ending(name: string, seconds: number): Pod {
  const end = `trap 'sleep ${seconds}; echo "${name} $(cut -d. -f1 /proc/uptime)" >>/endings/log; exit 0' TERM`;
  return {
    ...pod(name, [
      shell(`${end}; while true; do sleep 1; done`, { volumeMounts: [{ name: 'log', mountPath: '/endings' }] }),
    ]),
    ...{ metadata: { name, namespace: 'default' } },
  };
}

async function powerOff({ checks, cluster, machine }: Lab): Promise<void> {
  const volumes = [{ name: 'log', hostPath: { path: '/var/endings', type: 'DirectoryOrCreate' } }];
  const withSpec = (each: Pod, more: Partial<Pod['spec']>): Pod => ({
    ...each,
    spec: { ...each.spec, volumes, ...more },
  });
  await cluster.create(withSpec(ending('usual', 5), { terminationGracePeriodSeconds: 20 }));
  const critical = withSpec(ending('critical', 0), {
    priorityClassName: 'system-node-critical',
    terminationGracePeriodSeconds: 20,
  });
  await cluster.create(critical);
  await cluster.podReady('usual');
  await cluster.podReady('critical');
  await machine.powerOff();
  checks.ok(true, 'the machine turns off');
  await machine.boot();
  const log = await machine.sh('cat /var/endings/log');
  checks.match(log, /^usual \d+\ncritical \d+$/, 'critical pods end after the others, each in its own time');
  await cluster.eventually('the cluster answers again', () => cluster.get('usual'));
  await cluster.ready();
  const ended = await cluster.untilPod('usual', 'has ended', ({ status }) => status?.phase === 'Failed');
  checks.equal(ended.status?.reason, 'Terminated', 'the status says why');
  checks.equal(
    ended.status?.message,
    'Pod was terminated in response to imminent node shutdown.',
    'in the words of 1.24',
  );
  await machine.sh('rm -r /var/endings');
  await machine.sh(`test -d ${dataDir}`);
}
