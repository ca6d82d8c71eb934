/** An API server, a runtime and a node agent as separate processes, and pods bound to the node at once. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { namespaces, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { eventually, root } from '#test/e2e/harness.js';
import { ended } from '#test/integration/daemons/api.js';
import { type Command, own, type RunningApiServer, startApiServer } from '#test/integration/peers/implementations.js';
import { type RunningNode, startNode } from '#test/integration/peers/node-agent.js';
import { makeNamespace } from '#test/integration/peers/pod-life.js';

const namespace = 'bench';
const patienceMs = 300_000;

/** The project's agent, or another implementation's. */
const agentCommand: Command =
  (process.env['PEER_NODE_AGENT'] ?? '') === ''
    ? [join(root, 'bin', 'nodeagent'), `--dialect=${dialect.name}`]
    : [process.env['PEER_NODE_AGENT'] ?? ''];

/** The rates that `orch up` sets for a cluster on one machine; the defaults are lower. */
export const raisedRates = ['--kube-api-qps=50', '--kube-api-burst=100'];

export class BenchNode {
  readonly client: RestClient;
  readonly node: RunningNode;
  readonly serverPid: number;
  #agent: ChildProcess | undefined;

  constructor(server: RunningApiServer, node: RunningNode) {
    this.client = server.client;
    this.serverPid = server.pid;
    this.node = node;
  }

  get agentPid(): number {
    return this.#agent?.pid ?? 0;
  }

  /** Replaces the running agent by one with these options; resolves when its node is ready. */
  async startAgent(...options: string[]): Promise<void> {
    await this.stopAgent();
    // A previous agent's status does not prove that this one works.
    await this.client
      .resource(nodes)
      .delete(this.node.name)
      .catch(() => undefined);
    this.#agent = this.node.startAgent(agentCommand, '--cgroups-per-qos=true', '--registry-qps=0', ...options);
    await eventually('the node is ready', async () => {
      const { status } = await this.client.resource(nodes).get(this.node.name);
      return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    });
  }

  async stopAgent(): Promise<void> {
    if (this.#agent === undefined) return;
    this.#agent.kill('SIGTERM');
    await ended(this.#agent);
    this.#agent = undefined;
  }

  /** Builds a pod bound to this node. */
  pod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
    const containers = [{ name: 'main', image: this.node.images.busybox, command: ['sleep', '3600'] }];
    return {
      metadata: { name, namespace },
      spec: { nodeName: this.node.name, containers, terminationGracePeriodSeconds: 0, ...spec },
    };
  }

  /** Creates all pods at once; returns the milliseconds until a watch has shown each running. */
  async run(newPods: readonly Pod[]): Promise<number> {
    const { client } = this;
    const { metadata } = await client.resource(pods).list({ namespace, limit: 1 });
    const waiting = new Set(newPods.map((pod) => pod.metadata.name ?? ''));
    const stop = AbortSignal.timeout(patienceMs);
    const options = { namespace, resourceVersion: metadata?.resourceVersion ?? '', signal: stop };
    const began = clock.monotonic();
    const creating = Promise.all(newPods.map((pod) => client.resource(pods).create(pod)));
    for await (const event of client.resource(pods).watch(options)) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
      const { metadata, status } = event.object;
      if (isRunning(status)) waiting.delete(metadata.name ?? '');
      if (waiting.size === 0) break;
    }
    const ms = clock.monotonic() - began;
    await creating;
    if (waiting.size > 0) throw new Error(`${waiting.size} of ${newPods.length} pods do not run`);
    return ms;
  }

  /** Resolves when all pods are removed. */
  async removeAll(): Promise<void> {
    const { client } = this;
    await client.resource(pods).deleteCollection({ namespace });
    const isEmpty = async () => (await client.resource(pods).list({ namespace })).items.length === 0;
    await eventually('all pods are gone', isEmpty, patienceMs);
  }
}

function isRunning(status: Pod['status']): boolean {
  const [first] = status?.containerStatuses ?? [];
  return first?.state?.running !== undefined;
}

/** Runs `work` with a new node, which is removed afterwards. */
export async function withBenchNode(work: (benchNode: BenchNode) => Promise<void>): Promise<void> {
  const teardowns: (() => unknown)[] = [];
  const lifetime = { teardown: (end: () => unknown) => void teardowns.unshift(end) };
  let log = () => '';
  try {
    const server = await startApiServer(lifetime, own('orch-apiserver'));
    log = () => server.log();
    const node = await startNode(lifetime, server);
    await eventually('namespaces are there', () => server.client.resource(namespaces).get('kube-node-lease'));
    await makeNamespace(server.client, namespace, server.pki.authority.certificate);
    await work(new BenchNode(server, node));
  } catch (error) {
    process.stderr.write(log().slice(-4000));
    throw error;
  } finally {
    for (const end of teardowns) await end();
  }
}
