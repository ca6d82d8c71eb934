/** Starts a cluster for tests with certificates and a folder of its own, which are removed with it. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, processClock, realClock } from '#apimachinery/clock.js';
import { type Dialect, type DialectName, dialectByName } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { podRange, serviceRange } from '#cluster/embedded/ranges.js';
import { type ClusterPki, ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { freePort } from '#cluster/process/ports.js';
import {
  apiServerArguments,
  apiServerFiles,
  controllerManagerArguments,
  type Gates,
  loopsInProcess,
  schedulerArguments,
} from '#cluster/supervise/arguments.js';
import type { ClusterProcessOptions } from '#cluster/supervise/cluster-process.js';
import { type Logger, silentLogger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Store } from '#storage/store.js';
import { type ControllerChoice, controllerChoice, runsController } from '#testcluster/controller-choice.js';
import type { TestFeatureFactory } from '#testcluster/feature/feature.js';
import { TestCluster } from '#testcluster/test-cluster.js';

export interface TestClusterOptions {
  /** `kubernetes` when absent: most tests speak it. */
  readonly dialect?: DialectName;
  /** `all`, `none` or a list, see `controllerChoice`; `all` when absent. */
  readonly controllers?: string;
  /** Number of simulated nodes; 0 when absent. */
  readonly nodes?: number;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly newUID?: () => string;
  readonly log?: Logger;
  /** Its owner closes it; in memory when absent. */
  readonly store?: Store;
  /** URLs of an etcd for this cluster only, in place of `store`. */
  readonly etcd?: readonly string[];
  /** HTTPS port on loopback: 0 for no port, and any free one when absent. */
  readonly port?: number;
  /** Feature gates of all daemons; absent gates keep their defaults. */
  readonly featureGates?: Gates;
  /** Further options of the API server, `name=value`. */
  readonly apiServerOptions?: readonly string[];
  /** Rules of the simulated pods: YAML, JSON or its value. RulesError if they are wrong. */
  readonly podRules?: unknown;
  /** The faults at the start: YAML, JSON or its value. FaultPlanError if they are wrong. */
  readonly faultPlan?: unknown;
  /** The endpoints below `/test`; all when absent. */
  readonly features?: readonly TestFeatureFactory[];
}

/** PEM. */
export interface AdminCredentials {
  /** Of the API server's authority. */
  readonly ca: string;
  /** A client certificate with all rights. */
  readonly clientCertificate: string;
  readonly clientKey: string;
}

/** Its folder is below the system's folder for temporary files. */
export const clusterFolderPrefix = 'orch-test-';

export interface StartedTestCluster {
  readonly cluster: TestCluster;
  /** Of its files; removed by `close`. */
  readonly folder: string;
  /** URL of the API server. Throws where it has no port. */
  url(): string;
  /** A client config (kubeconfig) with all rights. Throws where the cluster has no port. */
  kubeconfig(): string;
  readonly credentials: AdminCredentials;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Resolves when the cluster is ready. Throws OptionsError for controllers that do not exist. */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<StartedTestCluster> {
  const dialect = dialectByName(options.dialect ?? 'kubernetes');
  const { clock = realClock, random = Math.random, newUID = randomUUID, log = silentLogger, etcd } = options;
  const { featureGates = {}, features, nodes = 0, podRules, faultPlan } = options;
  const choice = controllerChoice(options.controllers ?? 'all', nodes);
  const folder = await mkdtemp(join(tmpdir(), clusterFolderPrefix));
  const own = options.store === undefined && etcd === undefined ? new MemoryStore({ clock }) : undefined;
  const store = options.store ?? own;
  let cluster: TestCluster | undefined;
  const close = async () => {
    try {
      await cluster?.close();
      await own?.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  try {
    const pki = await ensureClusterPki(folder, { dialect, names: [], ips: [], now: processClock(clock).now() });
    const port = options.port ?? (await freePort());
    cluster = new TestCluster({
      daemons: {
        ...{ dialect, clock, random, log, newUID, pki, env: {} },
        verbosity: new Verbosity({ level: 0 }),
        metrics: createRegistry({ dialect }),
        ...(store === undefined ? {} : { store }),
        ...commandLines(dialect, choice, { port, pki, options }),
      },
      ...{ choice, nodes, folder, featureGates, features, podRules, faultPlan },
    });
    await cluster.start();
    const started = cluster;
    const url = () => urlOf(started);
    const { certificate: clientCertificate, privateKey: clientKey } = pki.admin;
    const credentials = { ca: pki.authority.certificate, clientCertificate, clientKey };
    return { cluster, folder, url, kubeconfig: () => kubeconfigOf(url(), dialect, credentials), credentials, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function urlOf({ address }: TestCluster): string {
  if (address === undefined) throw new Error('the cluster has no port');
  return `https://127.0.0.1:${address.port}`;
}

function kubeconfigOf(server: string, dialect: Dialect, credentials: AdminCredentials): string {
  return formatKubeconfig(
    singleContext({
      server,
      clusterName: dialect.product,
      userName: dialect.users.admin,
      ...credentials,
    }),
  );
}

type CommandLines = Pick<
  ClusterProcessOptions,
  'apiServerArguments' | 'controllerManagerArguments' | 'schedulerArguments'
>;

/** Pure. */
function commandLines(
  dialect: Dialect,
  choice: ControllerChoice,
  { port, pki, options }: { port: number; pki: ClusterPki; options: TestClusterOptions },
): CommandLines {
  const { apiServerOptions = [], etcd, featureGates } = options;
  // Without the controller that creates service accounts, pods could not be created.
  const plugins = runsController(choice, 'serviceaccount') ? [] : ['disable-admission-plugins=ServiceAccount'];
  return {
    apiServerArguments: apiServerArguments({
      ...{ dialect, port, serviceRange, featureGates, verbosity: 0, more: [...plugins, ...apiServerOptions] },
      etcd: etcd && { endpoints: etcd, caFile: undefined, certFile: undefined, keyFile: undefined },
      bindAddress: '127.0.0.1',
      advertiseAddress: undefined,
      files: apiServerFiles(pki),
    }),
    ...loopCommandLines(dialect, choice, featureGates),
  };
}

/** The command lines of controllers and scheduler. Pure. */
export function loopCommandLines(
  dialect: Dialect,
  { controllers }: ControllerChoice,
  featureGates: Gates | undefined,
): Omit<CommandLines, 'apiServerArguments'> {
  const loops = loopsInProcess({ dialect, featureGates, verbosity: 0 });
  return {
    controllerManagerArguments: controllerManagerArguments({
      ...{ ...loops, podRange, serviceRange, files: undefined },
      ...(controllers.length === 0 ? {} : { controllers }),
    }),
    schedulerArguments: schedulerArguments({ ...loops, schedulerConfig: undefined }),
  };
}
