/**
 * The cost of controllers in a large cluster: `NODES=5000 PODS=50000 SECONDS=60`, each daemon in its own process. Nodes are
 * objects with leases that this process renews every ten seconds, as node agents would.
 */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Lease } from '#api/coordination/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { realClock as clock, formatMicroTime } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { maxConcurrentWrites } from '#controllers/framework/bounded-concurrency.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { inGroups, leaseNamespace, namespace, nodeName, podsOfSet, seed } from '#test/bench/controllers/objects.js';
import { benchPod } from '#test/bench/pod.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes, seconds } from '#test/bench/report.js';
import { own, startApiServer } from '#test/integration/peers/implementations.js';

const nodeCount = Number(process.env['NODES'] ?? 5000);
const podCount = Number(process.env['PODS'] ?? 50_000);
const idleSeconds = Number(process.env['SECONDS'] ?? 60);
const replicas = Number(process.env['REPLICAS'] ?? 1000);
const renewEveryMs = 10_000;
const graceMs = 40_000;

const teardowns: (() => unknown)[] = [];
const lifetime = { teardown: (end: () => unknown) => void teardowns.unshift(end) };
const load = () => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 2).join(' ');

async function until(what: string, ask: () => Promise<boolean> | boolean, limitMs = 900_000): Promise<void> {
  for (const deadline = clock.monotonic() + limitMs; clock.monotonic() < deadline; await clock.sleep(50)) {
    if (await ask()) return;
  }
  throw new Error(`never: ${what}`);
}

/** Renews the leases of all nodes except the stopped ones, evenly over the period. */
class Agents {
  readonly silent = new Set<string>();
  /** Renewals without a response. */
  failures = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: Client) {
    this.#running = this.#run(client).catch((error: unknown) => {
      process.stderr.write(`no more renewals: ${String(error)}\n`);
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(client: Client): Promise<void> {
    const resource = client.resource(leases);
    const leaseByNode = new Map<string, Lease>();
    for (const lease of (await resource.list({ namespace: leaseNamespace })).items) {
      leaseByNode.set(lease.metadata.name ?? '', lease);
    }
    const renew = async (name: string) => {
      const lease = leaseByNode.get(name);
      if (lease === undefined || this.silent.has(name)) return;
      const spec = { ...lease.spec, renewTime: formatMicroTime(clock.now()) };
      try {
        leaseByNode.set(name, await resource.update({ ...lease, spec }));
      } catch {
        // The write is unclear; the next renewal shows the version.
        leaseByNode.set(name, await resource.get(name, { namespace: leaseNamespace }));
        this.failures += 1;
      }
    };
    const names = [...leaseByNode.keys()];
    const slices = 100;
    for (let slice = 0; !this.#stop.signal.aborted; slice += 1) {
      const dueMs = clock.monotonic() + renewEveryMs / slices;
      await Promise.all(names.filter((_, n) => n % slices === slice % slices).map(renew));
      await clock.sleep(dueMs - clock.monotonic(), this.#stop.signal);
    }
  }
}

/** Waits until the process is nearly idle after its start. */
async function settled(pid: number): Promise<void> {
  let last = cpuMs(pid);
  await until('the manager has nothing to do', async () => {
    await clock.sleep(5000);
    const now = cpuMs(pid);
    const share = (now - last) / 5000;
    last = now;
    return share < 0.1;
  });
}

async function idle(manager: ChildProcess): Promise<void> {
  const { pid = 0 } = manager;
  const before = cpuMs(pid);
  const startedMs = clock.monotonic();
  await clock.sleep(idleSeconds * 1000);
  const share = (cpuMs(pid) - before) / (clock.monotonic() - startedMs);
  figure(`idle for ${idleSeconds} s: share of one core`, `${(100 * share).toFixed(2)} %`, '5 %');
  figure('idle: resident memory', megabytes(residentBytes(pid)), '900 MB');
}

/** The time from the last renewal until the node's conditions are unknown. */
async function deadNode(client: Client, agents: Agents): Promise<void> {
  const name = nodeName(Math.floor(nodeCount / 2));
  agents.silent.add(name);
  // A renewal may be in flight.
  await clock.sleep(500);
  const { spec } = await client.resource(leases).get(name, { namespace: leaseNamespace });
  const lastMs = Date.parse(spec.renewTime ?? '');
  const { metadata } = await client.resource(nodes).list({ limit: 1 });
  const where = { fieldSelector: `metadata.name=${name}`, resourceVersion: metadata?.resourceVersion ?? '' };
  for await (const { object } of client.resource(nodes).watch(where)) {
    const ready = object.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'Unknown') break;
  }
  const limit = `${seconds(graceMs + 5000)}`;
  figure('from the last sign of a node to its being not ready', seconds(clock.now() - lastMs), limit);
  await until('its pods are not ready', async () => {
    const { items } = await client.resource(pods).list({ fieldSelector: `spec.nodeName=${name}` });
    return items.every((pod) =>
      pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'False'),
    );
  });
  figure('and to its pods being not ready', seconds(clock.now() - lastMs));
}

/**
 * Pods created per second: by this process, with the controller's concurrency and encoding, and by the controller for one
 * ReplicaSet.
 */
async function creation(client: Client): Promise<void> {
  const template = benchPod('x');
  const podsPerSecond = async (app: string, make: () => Promise<unknown>): Promise<number> => {
    const { metadata } = await client.resource(pods).list({ limit: 1 });
    const where = { namespace, labelSelector: `app=${app}`, resourceVersion: metadata?.resourceVersion ?? '' };
    const startedMs = clock.monotonic();
    const making = make();
    let created = 0;
    for await (const { type } of client.resource(pods).watch(where)) {
      if (type === 'ADDED') created += 1;
      if (created === replicas) break;
    }
    const ms = clock.monotonic() - startedMs;
    await making;
    return (1000 * replicas) / ms;
  };
  const alone: number[] = [];
  const controlled: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const direct = `direct-${round}`;
    alone.push(
      await podsPerSecond(direct, () =>
        inGroups(
          replicas,
          (n) => {
            const metadata = { name: `${direct}-${n}`, namespace, labels: { app: direct } };
            return client.resource(pods).create({ ...template, metadata });
          },
          maxConcurrentWrites,
        ),
      ),
    );
    const app = `set-${round}`;
    const labels = { app };
    const selector = { matchLabels: labels };
    const spec = { replicas, selector, template: { metadata: { labels }, spec: template.spec } };
    controlled.push(
      await podsPerSecond(app, () => client.resource(replicasets).create({ metadata: { name: app, namespace }, spec })),
    );
  }
  const [most = 0, own = 0] = [Math.max(...alone), Math.max(...controlled)];
  const all = (rates: number[]) => rates.map((rate) => rate.toFixed(0)).join(', ');
  process.stdout.write(`rounds: alone ${all(alone)}; by the controller ${all(controlled)}\n`);
  figure(`${replicas} pods, the API server alone`, `${most.toFixed(0)}/s`);
  figure(`${replicas} pods of one ReplicaSet`, `${own.toFixed(0)}/s`, `${(0.9 * most).toFixed(0)}/s`);
}

try {
  process.stdout.write(`${machineLine()}\n${nodeCount} nodes, ${podCount} pods; load ${load()}\n`);
  const server = await startApiServer(lifetime, own('orch-apiserver'));
  const { client } = server;
  const store = new EtcdStore({ endpoints: [server.etcd], clock, random: Math.random });
  lifetime.teardown(() => store.close());
  await seed(client, store, { nodeCount, podCount });
  const agents = new Agents(client);
  lifetime.teardown(() => agents.stop());

  const profile = process.env['PROFILE'] ?? '';
  const [program, ...args] = own('orch-controller-manager');
  const flags = profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const startedMs = clock.monotonic();
  const options = ['--leader-elect=false', '--kube-api-qps=-1', `--node-monitor-grace-period=${graceMs / 1000}s`];
  const manager = server.startManager([program, ...flags, ...args], ...options);
  const { pid = 0 } = manager;
  const sets = Math.ceil(podCount / podsOfSet);
  await until('every set and service is worked on', async () => {
    const { items } = await client.resource(replicasets).list({ namespace });
    const slices = (await client.resource(endpointslices).list({ namespace })).items.length;
    return slices >= sets && items.every(({ status }) => status?.readyReplicas === podsOfSet);
  });
  figure('from the start until all there is has been worked on', seconds(clock.monotonic() - startedMs));
  figure('CPU time of that', seconds(cpuMs(pid)));
  figure('resident memory then', megabytes(residentBytes(pid)));
  await settled(pid);
  await idle(manager);
  await deadNode(client, agents);
  await creation(server.connect(dialect.protobufMediaType));
  figure('resident memory in the end', megabytes(residentBytes(pid)));
  process.stdout.write(`${agents.failures} renewals without an answer; load ${load()}\n`);
  if (profile !== '') {
    manager.kill('SIGTERM');
    await until('the profile', () => manager.exitCode !== null);
  }
} finally {
  for (const end of teardowns) await end();
}
