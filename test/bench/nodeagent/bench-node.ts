/** An API server, a runtime and a node agent, each a process of its own, and pods that are bound to the node at once. */
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

/** What users run, or another implementation's agent. */
const agentCommand: Command =
  (process.env['PEER_NODE_AGENT'] ?? '') === ''
    ? [join(root, 'bin', 'nodeagent'), `--dialect=${dialect.name}`]
    : [process.env['PEER_NODE_AGENT'] ?? ''];

/** Rates of a cluster on one machine, as `orch up` sets them; without them those of a release. */
export const raisedRates = ['--kube-api-qps=50', '--kube-api-burst=100'];

export class Setting {
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

  /** Ends the agent that runs, and starts one with these options; resolves when its node is ready. */
  async startAgent(...options: string[]): Promise<void> {
    await this.stopAgent();
    // The last agent's word is no sign of life of this one.
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

  /** On this node, without a scheduler. */
  pod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
    const containers = [{ name: 'main', image: this.node.images.busybox, command: ['sleep', '3600'] }];
    return {
      metadata: { name, namespace },
      spec: { nodeName: this.node.name, containers, terminationGracePeriodSeconds: 0, ...spec },
    };
  }

  /** Creates them all at once; ms from then until a watch has shown each to run. */
  async run(wanted: readonly Pod[]): Promise<number> {
    const { client } = this;
    const { metadata } = await client.resource(pods).list({ namespace, limit: 1 });
    const waiting = new Set(wanted.map((pod) => pod.metadata.name ?? ''));
    const stop = AbortSignal.timeout(patienceMs);
    const options = { namespace, resourceVersion: metadata?.resourceVersion ?? '', signal: stop };
    const began = clock.monotonic();
    const creating = Promise.all(wanted.map((pod) => client.resource(pods).create(pod)));
    for await (const event of client.resource(pods).watch(options)) {
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
      const { metadata, status } = event.object;
      if (isRunning(status)) waiting.delete(metadata.name ?? '');
      if (waiting.size === 0) break;
    }
    const ms = clock.monotonic() - began;
    await creating;
    if (waiting.size > 0) throw new Error(`${waiting.size} of ${wanted.length} pods do not run`);
    return ms;
  }

  /** Resolves when nothing is left of them. */
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

/** Runs `work` in a setting of its own, of which nothing is left then. */
export async function withSetting(work: (setting: Setting) => Promise<void>): Promise<void> {
  const teardowns: (() => unknown)[] = [];
  const lifetime = { teardown: (end: () => unknown) => void teardowns.unshift(end) };
  let log = () => '';
  try {
    const server = await startApiServer(lifetime, own('orch-apiserver'));
    log = () => server.log();
    const node = await startNode(lifetime, server);
    await eventually('namespaces are there', () => server.client.resource(namespaces).get('kube-node-lease'));
    await makeNamespace(server.client, namespace, server.pki.authority.certificate);
    await work(new Setting(server, node));
  } catch (error) {
    process.stderr.write(log().slice(-4000));
    throw error;
  } finally {
    for (const end of teardowns) await end();
  }
}
