/** All daemons in this process: the small cluster. */
import { env } from 'node:process';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { ClusterContext } from '#cluster/config/cluster-context.js';
import type { IngressPorts } from '#cluster/config/start-options.js';
import { hostAddresses } from '#cluster/machine/network.js';
import {
  controllerManagerArguments,
  loopsInProcess,
  preferredNodeAgentPort,
  schedulerArguments,
} from '#cluster/supervise/arguments.js';
import { ClusterProcess } from '#cluster/supervise/cluster-process.js';
import type { Infrastructure } from '#cluster/supervise/infrastructure.js';
import { agentRecord, recordArguments } from '#cluster/supervise/recorded-arguments.js';
import {
  apiServerCommand,
  type DaemonSupervisor,
  ingressCommand,
  nodeAgentCommand,
  type PlacedNode,
} from '#cluster/supervise/supervisor.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { simulatedDependencies } from '#nodeagent/simulated/node.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

export class InProcessDaemons implements DaemonSupervisor {
  readonly metrics;
  readonly #context: ClusterContext;
  readonly #infrastructure: Infrastructure;
  readonly #process: ClusterProcess;

  constructor(context: ClusterContext, infrastructure: Infrastructure) {
    const { dialect, clock, layout, log, verbosity, settings, start } = context;
    const { daemonOptions, featureGates, schedulerConfig } = start;
    const loops = { ...loopsInProcess({ dialect, featureGates, verbosity: start.verbosity }), profiling: false };
    this.#context = context;
    this.#infrastructure = infrastructure;
    this.metrics = createRegistry({ dialect, process: context.process });
    const commands = {
      apiServer: apiServerCommand(context, infrastructure),
      controllerManager: controllerManagerArguments({
        ...loops,
        podRange: settings.podRange,
        serviceRange: settings.serviceRange,
        ownAccounts: true,
        more: daemonOptions.controllerManager,
        files: undefined,
      }),
      scheduler: schedulerArguments({ ...loops, more: daemonOptions.scheduler, schedulerConfig }),
    };
    recordArguments(layout, 'orch-apiserver', commands.apiServer);
    recordArguments(layout, 'orch-controller-manager', commands.controllerManager);
    recordArguments(layout, 'orch-scheduler', commands.scheduler);
    this.#process = new ClusterProcess({
      ...{ dialect, clock, log, verbosity, env, random: Math.random, metrics: this.metrics, pki: infrastructure.pki },
      // Addresses of nodes come first: the API server is advertised at the first address.
      machineAddresses: [...infrastructure.nodeIPs, ...hostAddresses()],
      ...(settings.server === undefined ? {} : { candidate: settings.server.name }),
      ...(settings.store === 'memory' ? { store: new MemoryStore({ clock }) } : {}),
      apiServerArguments: commands.apiServer,
      controllerManagerArguments: commands.controllerManager,
      schedulerArguments: commands.scheduler,
    });
  }

  get client(): Client {
    return this.#process.api.client;
  }

  get failed(): Promise<void> {
    return this.#process.failed;
  }

  readonly elect = (candidate: string): Promise<void> => this.#process.elect(candidate);

  async startApiServer(): Promise<void> {
    this.#context.running.push(this.#process);
    await this.#process.startApiServer();
  }

  startLoops(): Promise<void> {
    return this.#process.startLoops();
  }

  async startIngress(ports: IngressPorts): Promise<void> {
    await this.#process.startIngress(ingressCommand(this.#context, this.#infrastructure, { ports, config: undefined }));
  }

  async startNode(node: PlacedNode): Promise<void> {
    const { dialect, clock } = this.#context;
    const { name, place, runtime } = node;
    const own = { port: preferredNodeAgentPort(place), config: undefined, runtime };
    const command = nodeAgentCommand(this.#context, this.#infrastructure, node, own);
    recordArguments(this.#context.layout, agentRecord(name), command);
    await this.#process.startNode({
      name,
      dependencies: async (tracer) =>
        runtime === undefined
          ? simulatedDependencies({ dialect, clock })
          : { cri: await connectRuntime(runtime.endpoint, { clock, tracer }) },
      arguments: command,
    });
  }
}

/** Loads the gRPC client, which only real containers need. */
async function connectRuntime(
  endpoint: string,
  { clock, tracer }: { readonly clock: Clock; readonly tracer: Tracer | undefined },
): Promise<CRI> {
  const { GrpcCRI } = await import('#nodeagent/cri/grpc/client.js');
  return new GrpcCRI({ endpoint, clock, traceparent: tracer && (() => tracer.traceparent()) });
}
