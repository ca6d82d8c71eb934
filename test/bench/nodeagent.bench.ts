/**
 * What a node agent costs while its pods do nothing, without probes and with 200 probes in ten seconds, and what it adds
 * to the time in which a runtime starts pods, on a real runtime where the machine has one; and its own cost, on the runtime
 * in memory. `ONLY=idle,probes,single,many,simulated`, `PODS=110`, `SECONDS=30`, `KINDS=exec,http,tcp,grpc`, `ROUNDS=2`.
 * `PEER_NODE_AGENT=PATH`: another implementation's agent instead.
 */
import { realClock as clock } from '#apimachinery/clock.js';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { raisedRates, type Setting, withSetting } from '#test/bench/nodeagent/bench-node.js';
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
/** With two probes each: 200 probes in ten seconds. */
const probed = Math.min(count, 100);
const singleRounds = 10;
const atOnce = 50;

/** What starting pods leaves to be told shall not go on for as long as is measured. */
const eventRates = ['--event-qps=50', '--event-burst=1000'];

async function idle(setting: Setting): Promise<void> {
  await setting.startAgent(...raisedRates, ...eventRates);
  await setting.run(Array.from({ length: count }, (_, i) => setting.pod(`idle-${i}`)));
  await clock.sleep(settleMs);
  const limits = { cpu: '1 %', memory: '120 MB' };
  await measureIdle(setting.agentPid, `${count} pods without probes`, seconds, limits);
  await setting.removeAll();
}

async function probes(setting: Setting): Promise<void> {
  const answering = await startAnswering(setting.node.address);
  try {
    await setting.startAgent(...raisedRates, ...eventRates);
    await setting.run(probedPods(setting, probed, kinds, answering));
    await clock.sleep(settleMs);
    await measureIdle(setting.agentPid, `${probed * 2} probes (${kinds.join(', ')}) in 10 s`, seconds, { cpu: '5 %' });
    await setting.removeAll();
  } finally {
    answering.close();
  }
}

process.stdout.write(`${machineLine()}\n`);
const lacking = await skipWithoutContainers();
if (lacking !== false) process.stdout.write(`rows with real containers are left out: ${lacking}\n`);
else {
  await withSetting(async (setting) => {
    if (wants('single')) await measureSingle(setting, singleRounds);
    if (wants('many')) await measureMany(setting, { rounds, atOnce });
    if (wants('idle')) await idle(setting);
    if (wants('probes')) await probes(setting);
    await setting.stopAgent();
  });
}
if (wants('simulated')) await measureSimulated({ pods: count, probed, seconds });
