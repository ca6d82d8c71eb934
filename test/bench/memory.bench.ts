/**
 * Memory of the API server and of informers for many pods from few templates: `PODS=50000 TEMPLATES=100 INFORMERS=10`.
 *
 * The pods are in etcd when the server starts. The informers run in a separate process, like those of a controller manager:
 * once with controllers that share one informer, and once with controllers that have their own transforms and informers.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { OwnMetadata } from '#api/meta/object.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { Connection } from '#client/rest/connection.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { collectWhenIdle, garbageCollector } from '#daemon/memory/idle-collector.js';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { staticToken } from '#http/client/credentials.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { encodeStored } from '#storage/layout.js';
import { ask, podBody, podsPath, prepare } from '#test/bench/access/pods.js';
import { apiPeer, type RunningServer } from '#test/bench/access/servers.js';
import { inGroups } from '#test/bench/controllers/objects.js';
import { podOf } from '#test/bench/memory/objects.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes, seconds } from '#test/bench/report.js';

const podCount = Number(process.env['PODS'] ?? 50_000);
const templateCount = Number(process.env['TEMPLATES'] ?? 100);
const informerCount = Number(process.env['INFORMERS'] ?? 10);
/** Twice the delay after which an idle server collects garbage. */
const settleMs = 12_000;
const self = fileURLToPath(import.meta.url);

const [, , role = 'bench', ...args] = process.argv;
if (role === 'informers') await inform(args[0] ?? '', args[1] ?? '', args[2] ?? '');
else await bench();

/** Writes the pods to the server's etcd, and returns their total size in JSON. */
async function seed(server: RunningServer): Promise<number> {
  await prepare(server);
  const created = await ask(server, 'POST', podsPath, { body: podBody('first', 0) });
  await ask(server, 'DELETE', `${podsPath}/first`, { body: '{"gracePeriodSeconds":0}' });
  const template = JSON.parse(created.body.toString()) as Pod;
  const store = new EtcdStore({ endpoints: [server.etcd.endpoint], clock, random: Math.random });
  let bytes = 0;
  await inGroups(podCount, async (n) => {
    const pod = podOf(template, n, templateCount);
    const value = encodeStored(pod as object);
    bytes += value.length;
    await store.create(`/registry/pods/default/${pod.metadata.name}`, value);
  });
  await store.close();
  return bytes;
}

/** Reports its memory at the start, and when all informers are synced. */
async function inform(url: string, contentType: string, ways: string): Promise<void> {
  const config = { server: url, insecureSkipVerify: true, namespace: 'default', token: staticToken('secret') };
  const connection = new Connection(config, { dialect, clock, program: 'bench', qps: 0, burst: 1, contentType });
  const client = connection.client('informers');
  await client.resource(pods).list({ namespace: 'default', limit: 10 });
  const before = residentBytes(process.pid);
  const cpu = cpuMs(process.pid);
  const stop = new AbortController();
  // As in the manager.
  const transform = dropManagedFields;
  const factory = new SharedInformerFactory({ client, clock, random: Math.random, log, transform });
  const running = factory.start(stop.signal);
  // As in the manager.
  const collector = { clock, cpuUsage: () => process.cpuUsage(), collect: garbageCollector() };
  const collecting = collectWhenIdle(collector, stop.signal);
  let added = 0;
  for (let i = 0; i < informerCount; i++) {
    // A separate transform needs a separate informer.
    const options = ways === 'own' ? { transform: (pod: Pod & OwnMetadata) => dropManagedFields(pod) } : {};
    const informer = factory.informer(pods, options);
    informer.addHandler({ onAdd: () => void added++ });
    await informer.whenSynced();
    if (informer.size !== podCount) throw new Error(`${informer.size} pods`);
  }
  if (added !== podCount * informerCount) throw new Error(`informers saw ${added} pods`);
  const cpuUsedMs = cpuMs(process.pid) - cpu;
  await clock.sleep(settleMs);
  const resident = residentBytes(process.pid);
  global.gc?.();
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ before, resident, live: heapUsed + external, cpuUsedMs } satisfies Informed);
  stop.abort();
  await Promise.all([running, collecting]);
  await connection.close();
  process.exit();
}

interface Informed {
  readonly before: number;
  readonly resident: number;
  readonly live: number;
  readonly cpuUsedMs: number;
}

async function informers(url: string, contentType: string, ways: string): Promise<Informed> {
  // As in the controller manager.
  const execArgv = ['--expose-gc', ...daemonNodeFlags('orch-controller-manager')];
  const child = fork(self, ['informers', url, contentType, ways], {
    execArgv,
    env: { ...process.env, ...daemonEnvironment('orch-controller-manager') },
  });
  const exited = once(child, 'exit');
  const answer = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (answer === undefined) throw new Error('the informers ended early');
  await exited;
  return answer[0] as Informed;
}

/** Resident memory and V8's heap statistics. */
async function memoryRow(name: string, server: RunningServer, limit?: string): Promise<void> {
  figure(name, megabytes(residentBytes(server.pid)), limit);
  const { body } = await ask(server, 'GET', '/metrics');
  const value = (metric: string) => megabytes(Number(new RegExp(`^${metric} (\\S+)`, 'm').exec(body.toString())?.[1]));
  const heap = `${value('nodejs_heap_size_used_bytes')} of ${value('nodejs_heap_size_total_bytes')}`;
  process.stdout.write(`  heap ${heap}, outside of it ${value('nodejs_external_memory_bytes')}\n`);
}

async function bench(): Promise<void> {
  process.stdout.write(`${machineLine()}\n`);
  const peer = await apiPeer(undefined);
  let { server } = await peer.start();
  try {
    await clock.sleep(settleMs);
    await memoryRow('the server without pods', server);
    const bytes = await seed(server);
    process.stdout.write(`${podCount} pods of ${templateCount} templates, ${megabytes(bytes)} of JSON\n`);
    await clock.sleep(settleMs);
    await memoryRow('the server that saw them written', server);
    await server.stop();
    let startMs: number;
    ({ server, startMs } = await peer.start());
    figure('its start with them', seconds(startMs));
    figure('CPU of that', seconds(cpuMs(server.pid)));
    await clock.sleep(settleMs);
    await memoryRow('the server with them', server, '350 MB');
    const json = await ask(server, 'GET', podsPath, { discard: true });
    await memoryRow('after a list in JSON', server, '350 MB');
    const headers = { accept: dialect.protobufMediaType };
    await ask(server, 'GET', podsPath, { discard: true, headers });
    await memoryRow('after a list in Protobuf', server, '350 MB');
    await ask(server, 'GET', `${podsPath}?labelSelector=app%3Dapp-1`, { discard: true });
    await memoryRow('after a list by label', server, '350 MB');
    if (json.status !== 200) throw new Error(`list: ${json.status}`);
    for (const [name, type] of [
      ['Protobuf', dialect.protobufMediaType],
      ['JSON', 'application/json'],
    ] as const) {
      for (const ways of ['one', 'own'] as const) {
        const what = ways === 'one' ? `one informer for ${informerCount}` : `${informerCount} informers`;
        const { before, resident, live, cpuUsedMs } = await informers(server.url, type, ways);
        figure(`${what} in ${name}: more memory`, megabytes(resident - before), '250 MB');
        figure(`${what} in ${name}: live`, megabytes(live));
        figure(`${what} in ${name}: CPU`, seconds(cpuUsedMs));
      }
    }
    await memoryRow('the server in the end', server, '350 MB');
  } finally {
    await server.stop();
    await peer.destroy();
  }
}
