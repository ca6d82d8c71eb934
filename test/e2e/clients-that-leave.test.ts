/** Clients disconnect at random moments: no daemon ends, and no process, socket or memory of them is left. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { whyNoContainers, whyNoEtcd } from '#cluster/machine/preflight.js';
import {
  type ClusterOptions,
  eventually,
  extremesOf,
  kubectls,
  ownRanges,
  rangeArguments,
  startTestCluster,
} from '#test/e2e/harness.js';
import { footprintOf, untilReleased } from '#test/e2e/leaving/footprint.js';
import { comeAndLeave } from '#test/e2e/leaving/leave.js';
import { adminClient, metricsOf } from '#test/e2e/observe.js';
import { busybox, namespace, pod, untilPodReady } from '#test/e2e/pods.js';

t.setTimeout(840_000);
const path = process.env['PATH'] ?? '';
const noContainers = whyNoContainers({ path, isRoot: process.getuid?.() === 0 }) ?? false;
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);

interface Mode extends ClusterOptions {
  readonly clients: number;
}

const modes: readonly (readonly [name: string, skip: string | false, mode: Mode])[] = [
  ['one process', false, { runtime: 'simulated', store: 'memory', clients: 500 }],
  ['a process for each daemon', whyNoEtcd(path) ?? false, { runtime: 'simulated', separate: true, clients: 500 }],
  ['real containers', noContainers, { runtime: 'containerd', clients: 100 }],
];

/** A mark in the command lines that the clients run. */
const mark = `leaving${seed}`;

for (const [name, skip, mode] of modes) t.test(name, { skip, timeout: 480_000 }, (t) => leaving(t, mode));

async function leaving(t: Test, mode: Mode): Promise<void> {
  const real = mode.runtime === 'containerd';
  const cluster = await startTestCluster({ ...mode, args: real ? rangeArguments(await ownRanges()) : [] });
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  const script = 'while true; do echo tick; sleep 0.2; done';
  const main = { name: 'main', image: busybox, command: ['sh', '-c', script] };
  await client.resource(pods).create(pod('host', [main]), { namespace });
  const { spec } = await untilPodReady(client, 'host');
  const data = { x: 'y'.repeat(200_000) };
  for (let i = 0; i < 10; i++)
    await client.resource(configmaps).create({ metadata: { name: `c${i}`, namespace }, data });
  // It ends with its input, and is found by its argument.
  const command = real ? ['sed', `s/${mark}//`] : ['cat'];
  const visit = {
    kubeconfig: cluster.config,
    pod: 'host',
    node: spec.nodeName ?? '',
    command,
    atOnce: real ? 8 : 24,
    stayMs: 150,
  };

  // The first requests make daemons load code and open files that stay.
  await comeAndLeave({ ...visit, seed, clients: 60 });
  await realClock.sleep(1000);
  const before = await footprintOf(cluster.dataDir);
  const answers = await comeAndLeave({ ...visit, seed: seed + 1000, clients: mode.clients });
  t.comment(JSON.stringify(answers));
  for (const [kind, statuses] of Object.entries(answers)) {
    const accepted = statuses['101'] ?? statuses['200'] ?? 0;
    // Nothing listens in a simulated pod; uploads and half requests come to nothing.
    if (!/proxied page|upload|request/.test(kind)) t.ok(accepted > 0, `${kind} came in`);
  }
  if (real) await kubectlsThatAreKilled(t, cluster.config, command);

  const after = await untilReleased(cluster.dataDir, before);
  t.same(after.processes, before.processes, 'every daemon is the one that it was');
  for (const [daemon, kiB] of Object.entries(after.residentKiB)) {
    // Uncollected garbage is no leak; leaked clients would take more.
    t.ok(kiB - (before.residentKiB[daemon] ?? 0) < 250 * 1024, `${daemon} holds ${kiB} KiB`);
  }
  t.notMatch(
    await metricsOf(cluster),
    /^process_stray_failures_total\{.*\} [1-9]/m,
    'no failure went past all handlers',
  );
  if (real) {
    await eventually('no process of the clients is left', async () => {
      const left = processesNaming(mark);
      if (left.length > 0) throw new Error(left.join(', '));
      return true;
    });
  }
  await eventually('no request of the clients is left', async () => {
    const metrics = await metricsOf(cluster);
    const open = [
      ...metrics.matchAll(/^apiserver_(?:current_inflight_requests|waiting_responses|response_memory_bytes).*/gm),
    ]
      .map(([line]) => line)
      .filter((line) => !/ 0$/.test(line) && !line.includes('readOnly'));
    if (open.length > 0) throw new Error(open.join('\n'));
    return true;
  });

  // A pod is deleted during an exec session, and its log ends.
  await Promise.all([
    comeAndLeave({ ...visit, seed: seed + 5000, clients: 40, stayMs: 3000 }),
    (async () => {
      await realClock.sleep(700);
      await client.resource(pods).delete('host', { namespace, gracePeriodSeconds: 0 });
    })(),
  ]);
  t.same((await footprintOf(cluster.dataDir)).processes, before.processes);
  // The cluster stops in good time while clients are connected.
  const staying = comeAndLeave({ ...visit, seed: seed + 6000, clients: 24, stayMs: 4000 });
  const { code, stdout, stderr } = await cluster.down();
  t.equal(code, 0, `the cluster goes down: ${stdout}${stderr}`);
  await staying;
}

/** Every kubectl, killed while it runs something. */
async function kubectlsThatAreKilled(t: Test, kubeconfig: string, command: readonly string[]): Promise<void> {
  // Versions between the oldest and the newest use the protocols of one of the two.
  for (const kubectl of extremesOf(await kubectls())) {
    for (const [args, signal] of [
      [['exec', '-i', 'host', '--', ...command], 'SIGKILL'],
      [['exec', '-i', 'host', '--', ...command], 'SIGINT'],
      [['attach', 'host'], 'SIGKILL'],
      [['logs', '-f', 'host'], 'SIGKILL'],
    ] as const) {
      const child = spawn(kubectl, [...args], {
        env: { ...process.env, KUBECONFIG: kubeconfig, NODE_OPTIONS: '' },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      child.stdin.on('error', () => undefined);
      child.stdin.write('hello\n');
      const output = new Promise((resolve) => child.stdout.once('data', resolve));
      await Promise.race([output, realClock.sleep(5000)]);
      child.kill(signal);
      await new Promise((resolve) => child.once('close', resolve));
    }
    t.pass(`${kubectl} was killed`);
  }
}

/** Command lines that contain the text, without this test's own programs. */
function processesNaming(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => line.includes(text) && line.startsWith('sed'));
}
