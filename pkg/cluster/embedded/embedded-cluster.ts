/** A cluster in this process with simulated nodes: what `startCluster` and the clusters of `orch test` are built from. */
import { join } from 'node:path';
import { processClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { untilPodsAreAdmitted } from '#cluster/clients/nodes.js';
import { dnsAddress } from '#cluster/embedded/ranges.js';
import { setUpLocalStorage } from '#cluster/objects/local-storage.js';
import { ensureNodePki } from '#cluster/pki/cluster-pki.js';
import { type Gates, type NodeAgentArguments, nodeAgentArguments } from '#cluster/supervise/arguments.js';
import { ClusterProcess, type ClusterProcessOptions, type Loops } from '#cluster/supervise/cluster-process.js';
import type { NodeAgent } from '#nodeagent/nodeagent.js';
import type { SimulatedDependencies } from '#nodeagent/simulated/node.js';

export interface EmbeddedClusterOptions {
  readonly daemons: ClusterProcessOptions;
  readonly loops: Loops;
  /** Number of simulated nodes, which need the controllers of nodes. */
  readonly nodes: number;
  /** Whether a controller creates service accounts: pods get volumes and are admitted from the start. */
  readonly admitsPods: boolean;
  /** The node with that name (`node-0` and so on). */
  readonly simulate: (name: string) => SimulatedDependencies;
  /** Existing folder of the nodes' files. */
  readonly folder: string;
  readonly featureGates?: Gates;
  /** Further options of the node agents, `name=value`. */
  readonly nodeOptions?: readonly string[];
}

export interface SimulatedNode {
  readonly name: string;
  readonly dependencies: SimulatedDependencies;
  readonly agent: NodeAgent;
}

const nodesReadyMs = 30_000;

export class EmbeddedCluster {
  readonly process: ClusterProcess;
  readonly #options: EmbeddedClusterOptions;
  readonly #nodes = new Map<string, SimulatedNode>();

  constructor(options: EmbeddedClusterOptions) {
    this.#options = options;
    this.process = new ClusterProcess(options.daemons);
  }

  /** By name; those that were stopped included. */
  get nodes(): ReadonlyMap<string, SimulatedNode> {
    return this.#nodes;
  }

  /** Resolves when all nodes take pods and pods can be created. The owner calls `close`, also after a failure. */
  async start(): Promise<void> {
    const { admitsPods, loops, nodes: count } = this.#options;
    await this.process.startApiServer();
    if (loops.controllers || loops.scheduler) await this.process.startLoops(loops);
    const names = Array.from({ length: count }, (_, index) => `node-${index}`);
    if (count > 0) {
      const files = await this.#nodeFiles();
      await Promise.all(names.map((name) => this.#startNode(name, files)));
    }
    const { client } = this.process.api;
    const timeout = AbortSignal.timeout(nodesReadyMs);
    if (admitsPods) await setUpLocalStorage(client);
    await this.process.untilScheduled(names, timeout);
    if (admitsPods) await untilPodsAreAdmitted(client, timeout);
  }

  /** Stops a node's agent like a power failure, without an update of its status. Throws for an unknown name. */
  async stopNode(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    if (node === undefined)
      throw new Error(`there is no node ${name}; there are ${[...this.#nodes.keys()].join(', ')}`);
    await node.agent.close();
  }

  close(): Promise<void> {
    return this.process.close();
  }

  get #dialect(): Dialect {
    return this.#options.daemons.dialect;
  }

  /** All nodes share a certificate, since they serve at the address of this process. */
  async #nodeFiles(): Promise<NodeAgentArguments['files']> {
    const { daemons, folder } = this.#options;
    const { authority } = daemons.pki;
    const { serving } = await ensureNodePki(folder, authority, {
      ...{
        dialect: this.#dialect,
        nodeName: 'nodes',
        names: [],
        ips: ['127.0.0.1'],
        now: processClock(daemons.clock).now(),
      },
    });
    return { ca: authority.certificateFile, certificate: serving.certificateFile, key: serving.privateKeyFile };
  }

  async #startNode(name: string, files: NodeAgentArguments['files']): Promise<void> {
    const { daemons, folder, featureGates, nodeOptions, simulate } = this.#options;
    const dependencies = simulate(name);
    const agent = await this.process.startNode({
      name,
      dependencies: () => dependencies,
      arguments: nodeAgentArguments({
        dialect: daemons.dialect,
        nodeName: name,
        nodeIPs: ['127.0.0.1'],
        port: 0,
        config: undefined,
        rootDir: join(folder, name),
        podLogsDir: join(folder, name, 'logs'),
        runtime: undefined,
        pauseImage: undefined,
        // Without it each pod would get a warning event.
        dns: { server: dnsAddress, isOwn: false },
        featureGates,
        verbosity: 0,
        more: nodeOptions,
        files,
      }),
    });
    this.#nodes.set(name, { name, dependencies, agent });
  }
}
