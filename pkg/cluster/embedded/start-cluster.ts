/**
 * A whole cluster for tests, in this process:
 *
 *     const cluster = await startCluster({ nodes: 3 });
 *     await cluster.client.resource(deployments).create(…);
 *     const stream = await cluster.dial('web', 80);
 *     await cluster.close();
 *
 * It has an API server, all controllers, a scheduler and simulated nodes. By default the store is in memory and no port is
 * open. Several clusters can run side by side.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, type DialectName, dialectByName } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { dial } from '#cluster/embedded/dial.js';
import { EmbeddedCluster } from '#cluster/embedded/embedded-cluster.js';
import { podRange, serviceRange } from '#cluster/embedded/ranges.js';
import { ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { freePort } from '#cluster/process/ports.js';
import {
  apiServerArguments,
  apiServerFiles,
  clusterDomain,
  controllerManagerArguments,
  loopsInProcess,
  schedulerArguments,
} from '#cluster/supervise/arguments.js';
import { type Logger, silentLogger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { resolveName } from '#dns/resolve-name.js';
import { type SimulatedDependencies, simulatedDependencies } from '#nodeagent/simulated/node.js';
import type { PodConnection } from '#nodeagent/simulated/runtime.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Store } from '#storage/store.js';

export interface StartClusterOptions {
  /** `orch` when absent. */
  readonly dialect?: DialectName;
  /** Number of simulated nodes; 1 when absent. */
  readonly nodes?: number;
  /** Open an HTTPS port of the API server on loopback, for clients outside of this process. */
  readonly listen?: boolean;
  /** Any implementation of `Store`; in memory when absent. The cluster does not close it. */
  readonly store?: Store;
  /** URLs of an etcd for this cluster only. The cluster does not stop it. */
  readonly etcd?: readonly string[];
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newUID?: () => string;
  readonly log?: Logger;
  /** Path of the scheduler's configuration file. */
  readonly schedulerConfig?: string;
  /** Handles connections of `Cluster.dial` to pods, with an HTTP server for example; absent: pods send a greeting. */
  readonly onConnection?: (connection: PodConnection) => void;
  /** Feature gates of all daemons; absent gates keep their defaults. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** Path of the tracing configuration of all daemons; absent: no tracing. */
  readonly tracingConfig?: string;
  /** Serve the dashboard below `/ui/`. */
  readonly dashboard?: boolean;
}

export interface Cluster {
  readonly dialect: Dialect;
  /** A client with all rights, without a socket. */
  readonly client: Client;
  /** A client config (kubeconfig) for other programs. Throws without `listen`. */
  kubeconfig(): string;
  /** A client of that user. */
  clientAs(user: string, groups?: readonly string[]): RestClient;
  /** The addresses to which a pod's resolver in the namespace (`default` when absent) resolves a name; none if unknown. */
  resolve(name: string, namespace?: string): Promise<string[]>;
  /**
   * Connects like a pod in the namespace (`default` when absent): to a Service, by name or address, or to a pod. Simulated
   * pods accept any port; `onConnection` handles the connection. Rejects with ENOTFOUND for an unknown name, and with
   * ECONNREFUSED for a Service without such a port or without ready pods. Network policies are not enforced.
   */
  dial(host: string, port: number, namespace?: string): Promise<Duplex>;
  /**
   * Stops a node's agent (`node-0` and so on) like a power failure, without an update of its status. Its pods keep their last
   * status until the controllers notice. The node cannot be started again.
   */
  stopNode(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Resolves when all nodes take pods and pods can be created. */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  const dialect = dialectByName(options.dialect ?? 'orch');
  const { tracingConfig } = options;
  const more = tracingConfig === undefined ? [] : [`tracing-config-file=${tracingConfig}`];
  const traced = tracingConfig === undefined ? {} : { APIServerTracing: true };
  const featureGates = { ...traced, ...options.featureGates };
  const { clock = realClock, random = Math.random, newUID = randomUUID, log = silentLogger } = options;
  const folder = await mkdtemp(join(tmpdir(), 'orch-'));
  const { etcd } = options;
  const own = options.store === undefined && etcd === undefined ? new MemoryStore({ clock }) : undefined;
  const store = options.store ?? own;
  try {
    const pki = await ensureClusterPki(folder, { dialect, names: [], ips: [], now: clock.now() });
    const loops = loopsInProcess({ dialect, featureGates, verbosity: 0 });
    const { onConnection } = options;
    const simulated: SimulatedDependencies[] = [];
    const embedded = new EmbeddedCluster({
      daemons: {
        dialect,
        clock,
        random,
        log,
        verbosity: new Verbosity({ level: 0 }),
        newUID,
        metrics: createRegistry({ dialect }),
        ...(store === undefined ? {} : { store }),
        pki,
        // The API server's option takes 0 for no port, so a free port is chosen here.
        apiServerArguments: apiServerArguments({
          dialect,
          etcd: etcd && { endpoints: etcd, caFile: undefined, certFile: undefined, keyFile: undefined },
          bindAddress: '127.0.0.1',
          port: options.listen === true ? await freePort() : 0,
          advertiseAddress: undefined,
          serviceRange,
          featureGates,
          verbosity: 0,
          more: [...more, ...(options.dashboard === true ? ['dashboard=true'] : [])],
          files: apiServerFiles(pki),
        }),
        controllerManagerArguments: controllerManagerArguments({
          ...loops,
          podRange,
          serviceRange,
          more,
          files: undefined,
        }),
        schedulerArguments: schedulerArguments({ ...loops, more, schedulerConfig: options.schedulerConfig }),
        env: {},
      },
      loops: { controllers: true, scheduler: true },
      nodes: options.nodes ?? 1,
      admitsPods: true,
      simulate: () => {
        const dependencies = simulatedDependencies({ dialect, clock, onConnection });
        simulated.push(dependencies);
        return dependencies;
      },
      folder,
      featureGates,
      nodeOptions: more,
    });
    const { process } = embedded;
    const close = async () => {
      await embedded.close();
      await own?.close();
      await rm(folder, { recursive: true, force: true });
    };
    try {
      await embedded.start();
    } catch (error) {
      await close();
      throw error;
    }
    const { client } = process.api;
    const resolve = (name: string, namespace = dialect.namespaces.default) =>
      resolveName(client, clock, { name, namespace, domain: clusterDomain });
    return {
      dialect,
      client,
      resolve,
      dial: (host, port, namespace) =>
        dial(host, port, {
          client,
          random,
          runtimes: simulated.map(({ cri }) => cri),
          resolve: (name) => resolve(name, namespace),
        }),
      clientAs: (user, groups = []) => process.clientFor(user, groups),
      kubeconfig() {
        const port = process.api.address?.port;
        if (port === undefined) throw new Error('the cluster has no port; start it with { listen: true }');
        const config = singleContext({
          server: `https://127.0.0.1:${port}`,
          clusterName: dialect.product,
          userName: dialect.users.admin,
          ca: pki.authority.certificate,
          clientCertificate: pki.admin.certificate,
          clientKey: pki.admin.privateKey,
        });
        return formatKubeconfig(config);
      },
      stopNode: (name) => embedded.stopNode(name),
      close,
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}
