/** The clients of `clients-that-leave.test.ts`, for any length of time; see hack/soak.sh. */
import { parseArgs } from 'node:util';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { ownRanges, rangeArguments, startTestCluster } from '#test/e2e/harness.js';
import { type Footprint, footprintOf, untilReleased } from '#test/e2e/leaving/footprint.js';
import { comeAndLeave } from '#test/e2e/leaving/leave.js';
import { adminClient } from '#test/e2e/observe.js';
import { busybox, namespace, pod, untilPodReady } from '#test/e2e/pods.js';

const minuteMs = 60_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      separate: { type: 'boolean', default: false },
      runtime: { type: 'string' },
    },
  });
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const possible = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 }) === undefined;
  const runtime = values.runtime ?? (possible ? 'containerd' : 'simulated');
  if (!(minutes > 0) || !Number.isInteger(seed) || (runtime !== 'containerd' && runtime !== 'simulated')) {
    process.stderr.write('usage: soak [--minutes N] [--seed N] [--separate] [--runtime containerd|simulated]\n');
    return 2;
  }
  console.log(`seed ${seed}, ${runtime}`);
  const real = runtime === 'containerd';
  const args = real ? rangeArguments(await ownRanges()) : [];
  const cluster = await startTestCluster({ runtime, separate: values.separate, args });
  const client = await adminClient(cluster);
  try {
    const main = { name: 'main', image: busybox, command: ['sh', '-c', 'while true; do echo tick; sleep 0.2; done'] };
    await client.resource(pods).create(pod('host', [main]), { namespace });
    const { spec } = await untilPodReady(client, 'host');
    for (let i = 0; i < 10; i++) {
      const metadata = { name: `c${i}`, namespace };
      await client.resource(configmaps).create({ metadata, data: { x: 'y'.repeat(200_000) } });
    }
    const visit = {
      kubeconfig: cluster.config,
      pod: 'host',
      node: spec.nodeName ?? '',
      command: ['cat'],
      stayMs: 1000,
    };
    let before: Footprint | undefined;
    // The first minute loads code and opens files that stay.
    for (let minute = 0; minute <= minutes; minute++) {
      const endMs = realClock.monotonic() + minuteMs;
      const until = () => realClock.monotonic() > endMs;
      const seedOfMinute = seed + minute * 1_000_000;
      const counts = await comeAndLeave({ ...visit, seed: seedOfMinute, clients: 1e6, atOnce: real ? 8 : 24, until });
      const clients = Object.values(counts).reduce((sum, by) => sum + Object.values(by).reduce((a, b) => a + b, 0), 0);
      const now =
        before === undefined ? await footprintOf(cluster.dataDir) : await untilReleased(cluster.dataDir, before);
      console.log(JSON.stringify({ minute, clients, descriptors: now.descriptors, residentKiB: now.residentKiB }));
      before ??= now;
      if (JSON.stringify(now.processes) !== JSON.stringify(before.processes)) {
        console.log('a daemon was restarted');
        return 1;
      }
    }
    return 0;
  } finally {
    await client.close();
    await cluster.destroy();
  }
}
