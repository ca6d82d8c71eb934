/**
 * The disk with all data of a cluster fills up, and has room again after some time: no daemon ends, no acknowledged write is
 * lost, and everything recovers by itself.
 */
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { layoutOf } from '#cluster/config/layout.js';
import { whyNoEtcd } from '#cluster/machine/preflight.js';
import { isRunning, type ProcessIdentity } from '#cluster/process/identity.js';
import { randomPort } from '#cluster/process/ports.js';
import { noSmallDisks, smallDisk } from '#nodeagent/testing/small-disk.js';
import { AcknowledgedWrites } from '#test/e2e/acknowledged.js';
import { eventually, Running, root, run } from '#test/e2e/harness.js';
import { findProgram } from '#test/e2e/kill.js';
import { adminClient, metricsOf } from '#test/e2e/observe.js';
import { busybox, namespace, pod, untilPodReady } from '#test/e2e/pods.js';

t.setTimeout(480_000);
const skip = noSmallDisks || (whyNoEtcd(process.env['PATH'] ?? '') ?? false);
const { components } = dialectByName('orch');
const { apiServer, controllerManager, scheduler, nodeAgent } = components;
const orch = join(root, 'bin', 'orch');

/** etcd's journal takes 64 MiB at once, and as much for its next file. */
const diskBytes = 320 * 1024 * 1024;

t.test('a cluster on a disk that becomes full', { skip }, async (t) => {
  const disk = await smallDisk(t, { bytes: diskBytes, files: 10_000 });
  // Below the mount point, which cannot be removed.
  const dataDir = join(disk, 'c');
  const port = await randomPort('0.0.0.0', Math.random);
  const args = ['--separate', '--runtime=simulated', '--node-ip=127.0.0.1', `--secure-port=${port}`, '--v=5'];
  // In the foreground, so that its own log goes to a pipe and not to that disk.
  const up = new Running(orch, ['up', `--data-dir=${dataDir}`, ...args], {});
  t.teardown(async () => {
    rmSync(join(disk, 'ballast'), { force: true });
    const { code, stderr } = await run(orch, ['down', '--delete', `--data-dir=${dataDir}`]);
    if (code !== 0) throw new Error(stderr);
    await up.exited;
  });
  await Promise.race([
    eventually('the cluster is ready', async () => up.stdout.includes('The cluster is ready'), 180_000),
    up.exited.then((code) => Promise.reject(new Error(`orch up ended with ${code}\n${up.stdout}\n${up.stderr}`))),
  ]);
  const client = await adminClient({ config: layoutOf(dataDir).clientConfig });
  t.teardown(() => client.close());
  await client.resource(pods).create(pod('before', [{ name: 'main', image: busybox }]), { namespace });
  await untilPodReady(client, 'before');
  const before = identities(dataDir);
  t.equal(before.size, 5);
  const writes = new AcknowledgedWrites(client);
  await eventually('a write is acknowledged', async () => writes.count > 5);

  const ballast = join(disk, 'ballast');
  fill(ballast);
  const refusal = await firstRefusal(client);
  t.comment(`refused: ${messageOf(refusal)}`);
  const said = new RegExp(
    `the disk of ${dataDir}/logs has 0 MiB left: free some space, and the program restarts by itself`,
  );
  await eventually('the error names the remedy', async () => said.test(up.stderr));
  await eventually('lines of logs are dropped and counted', async () => {
    // A restarted store frees its reserved space.
    fill(ballast);
    return (await dropped(dataDir)) > 0;
  });
  const { items } = await client.resource(pods).list({ namespace, resourceVersion: '0' });
  t.same(
    items.map(({ metadata }) => metadata.name),
    ['before'],
    'reads that may be old are answered',
  );
  t.same(gone(before), [], 'no daemon has ended');

  rmSync(ballast);
  const acknowledged = writes.count;
  await eventually('writes are acknowledged again', async () => writes.count > acknowledged + 5, 120_000);
  await writes.stop();
  t.strictSame(await writes.lost(), [], `all that was acknowledged is there (${writes.count} writes)`);
  await client.resource(pods).create(pod('after', [{ name: 'main', image: busybox }]), { namespace });
  await untilPodReady(client, 'after');
  t.same(gone(before), [], 'every daemon is the one that it was');
  await eventually('a log reports the dropped lines', async () => logsOf(dataDir).includes(missing));
  t.notMatch(
    await metricsOf({ config: layoutOf(dataDir).clientConfig }),
    /^process_stray_failures_total\{.*\} [1-9]/m,
    'no failure went past all handlers',
  );
});

const missing = 'log lines were dropped';

/** Fills the disk to the last page. */
function fill(file: string): void {
  for (const size of [1024 * 1024, 4096]) {
    for (const part = Buffer.alloc(size, 1); ; ) {
      try {
        appendFileSync(file, part);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        break;
      }
    }
  }
}

/** Writes until the store has used up its reserved space. */
async function firstRefusal(client: Client): Promise<unknown> {
  const data = { x: 'y'.repeat(500_000) };
  for (let i = 0; ; i++) {
    try {
      await client.resource(configmaps).create({ metadata: { name: `large-${i}`, namespace }, data });
    } catch (error) {
      return error;
    }
  }
}

/** Identities of the daemons and their supervisor. */
function identities(dataDir: string): Map<string, ProcessIdentity> {
  const identities = new Map<string, ProcessIdentity>();
  for (const name of ['orch', apiServer, controllerManager, scheduler, nodeAgent]) {
    const identity = findProgram(dataDir, name);
    if (identity !== undefined) identities.set(name, identity);
  }
  return identities;
}

/** Names of processes that no longer run. */
function gone(before: ReadonlyMap<string, ProcessIdentity>): string[] {
  return [...before].flatMap(([name, identity]) => (isRunning(identity) ? [] : [name]));
}

/** Lines that the API server could not write. */
async function dropped(dataDir: string): Promise<number> {
  return Number(
    /^process_log_lines_dropped_total (\d+)/m.exec(await metricsOf({ config: layoutOf(dataDir).clientConfig }))?.[1] ??
      0,
  );
}

function logsOf(dataDir: string): string {
  const { logs } = layoutOf(dataDir);
  return readdirSync(logs)
    .map((name) => readFileSync(join(logs, name), 'utf8'))
    .join('\n');
}
