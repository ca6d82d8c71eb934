/** Daemons without free file descriptors keep their connections, and accept new ones when descriptors are free again. */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:tls';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import { readSettings } from '#cluster/config/settings.js';
import { whyNoEtcd } from '#cluster/machine/preflight.js';
import { isRunning, type ProcessIdentity } from '#cluster/process/identity.js';
import { eventually, run, startTestCluster } from '#test/e2e/harness.js';
import { findProgram } from '#test/e2e/kill.js';
import { adminClient, metricsOf } from '#test/e2e/observe.js';
import { busybox, namespace, pod, untilPodReady } from '#test/e2e/pods.js';

t.setTimeout(240_000);
const { apiServer, controllerManager, scheduler, nodeAgent } = dialectByName('orch').components;

t.test('every daemon at its limit', { skip: whyNoEtcd(process.env['PATH'] ?? '') ?? false }, async (t) => {
  const cluster = await startTestCluster({ separate: true });
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  await client.resource(pods).create(pod('before', [{ name: 'main', image: busybox }]), { namespace });
  await untilPodReady(client, 'before');
  const daemons = new Map<string, ProcessIdentity>();
  for (const name of ['orch', apiServer, controllerManager, scheduler, nodeAgent]) {
    const identity = findProgram(cluster.dataDir, name);
    if (identity === undefined) throw new Error(`${name} does not run`);
    daemons.set(name, identity);
  }
  const usual = new Map<number, string>();
  for (const { pid } of daemons.values()) {
    usual.set(pid, (await prlimit(pid, '--nofile', '--output=SOFT', '--noheadings')).trim());
    await prlimit(pid, `--nofile=${firstFree(pid)}:`);
  }

  const port = readSettings(layoutOf(cluster.dataDir).settings)?.apiPort ?? 0;
  const answers = await Promise.all(Array.from({ length: 20 }, () => visit(port)));
  t.notOk(answers.includes('connected'), 'new clients are not');
  const { items } = await client.resource(pods).list({ namespace });
  t.equal(items.length, 1, 'a client that has its connection is served');
  t.same(gone(daemons), []);

  for (const [pid, files] of usual) await prlimit(pid, `--nofile=${files}:`);
  await client.resource(pods).create(pod('after', [{ name: 'main', image: busybox }]), { namespace });
  await untilPodReady(client, 'after');
  await eventually('new clients are served', async () => (await visit(port)) === 'connected');
  t.same(gone(daemons), [], 'every daemon is the one that it was');
  t.notMatch(
    await metricsOf(cluster),
    /^process_stray_failures_total\{.*\} [1-9]/m,
    'no failure went past all handlers',
  );
});

/** The next free descriptor of the process: with this number as its limit it can open no file. */
function firstFree(pid: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (open.has(free)) free++;
  return free;
}

async function prlimit(pid: number, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run('prlimit', [`--pid=${pid}`, ...args]);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** Connects to the API server, waits for the other connections, and disconnects. */
async function visit(port: number): Promise<'connected' | 'refused'> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(5000) });
    await once(socket, 'close', { signal: AbortSignal.timeout(3000) }).catch(() => undefined);
    return 'connected';
  } catch {
    return 'refused';
  } finally {
    socket.destroy();
  }
}

function gone(daemons: ReadonlyMap<string, ProcessIdentity>): string[] {
  return [...daemons].flatMap(([name, identity]) => (isRunning(identity) ? [] : [name]));
}
