/**
 * Measures a node agent's idle usage, without probes and with 200 probes in ten seconds, and its share of the time to
 * start pods, on a real runtime if available; and its own cost with the in-memory runtime.
 * `ONLY=idle,probes,single,many,simulated`, `PODS=110`, `SECONDS=30`, `KINDS=exec,http,tcp,grpc`, `ROUNDS=2`.
 * `PEER_NODE_AGENT=PATH` measures another implementation's agent.
 */
import { join } from 'node:path';
import { realClock as clock } from '#apimachinery/clock.js';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { TestDevicePlugin } from '#nodeagent/devices/testing/device-plugin.js';
import { type BenchNode, raisedRates, withBenchNode } from '#test/bench/nodeagent/bench-node.js';
import { type ProbeKind, probedPods, probeKinds, startAnswering } from '#test/bench/nodeagent/probed-pods.js';
import { measureSimulated } from '#test/bench/nodeagent/simulated.js';
import { measureIdle, measureMany, measureSingle, settleMs } from '#test/bench/nodeagent/starts.js';
import { machineLine } from '#test/bench/report.js';

const { env } = process;
const count = Number(env['PODS'] ?? 110);
const seconds = Number(env['SECONDS'] ?? 30);
const rounds = Number(env['ROUNDS'] ?? 2);
const kinds = (env['KINDS']?.split(',') ?? probeKinds) as readonly ProbeKind[];
const only = env['ONLY']?.split(',');
const wants = (section: string) => only === undefined || only.includes(section);
/** Two probes per pod: 200 probes in ten seconds. */
const probed = Math.min(count, 100);
const singleRounds = 10;
const atOnce = 50;

/** Keeps the events of the pod starts from extending into the measurement. */
const eventRates = ['--event-qps=50', '--event-burst=1000'];

async function idle(benchNode: BenchNode): Promise<void> {
  await benchNode.startAgent(...raisedRates, ...eventRates, ...everythingOn);
  const plugin = new TestDevicePlugin({
    socket: join(benchNode.node.folder, 'agent', 'device-plugins', 'bench.sock'),
    resource: 'example.com/bench',
    devices: Array.from({ length: count }, (_, i) => ({ id: `d${i}` })),
  });
  try {
    await plugin.start();
    await plugin.register();
    await benchNode.run(Array.from({ length: count }, (_, i) => benchNode.pod(`idle-${i}`)));
    await clock.sleep(settleMs);
    const limits = { cpu: '1 %', memory: '120 MB' };
    await measureIdle(benchNode.agentPid, `${count} pods without probes, all managers on`, seconds, limits);
    await benchNode.removeAll();
  } finally {
    await plugin.stop();
  }
}

/** Managers and watches that are off by default. */
const everythingOn = [
  '--cpu-manager-policy=static',
  '--reserved-cpus=0',
  '--memory-manager-policy=Static',
  '--system-reserved=memory=200Mi',
  '--eviction-hard=memory.available<100Mi,nodefs.available<1%,imagefs.available<1%,nodefs.inodesFree<1%,pid.available<1%',
  '--eviction-soft=memory.available<200Mi',
  '--eviction-soft-grace-period=memory.available=1m',
  '--reserved-memory=0:memory=300Mi',
  '--topology-manager-policy=best-effort',
  '--kernel-memcg-notification=true',
];

async function probes(benchNode: BenchNode): Promise<void> {
  const answering = await startAnswering(benchNode.node.address);
  try {
    await benchNode.startAgent(...raisedRates, ...eventRates);
    await benchNode.run(probedPods(benchNode, probed, kinds, answering));
    await clock.sleep(settleMs);
    await measureIdle(benchNode.agentPid, `${probed * 2} probes (${kinds.join(', ')}) in 10 s`, seconds, {
      cpu: '5 %',
    });
    await benchNode.removeAll();
  } finally {
    answering.close();
  }
}

process.stdout.write(`${machineLine()}\n`);
const lacking = await skipWithoutContainers();
if (lacking !== false) process.stdout.write(`rows with real containers are left out: ${lacking}\n`);
else {
  await withBenchNode(async (benchNode) => {
    if (wants('single')) await measureSingle(benchNode, singleRounds);
    if (wants('many')) await measureMany(benchNode, { rounds, atOnce });
    if (wants('idle')) await idle(benchNode);
    if (wants('probes')) await probes(benchNode);
    await benchNode.stopAgent();
  });
}
if (wants('simulated')) await measureSimulated({ pods: count, probed, seconds });
