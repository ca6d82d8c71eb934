/** `orch up`: creates or reads the settings of the cluster, starts it, and shows its progress. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { startInBackground } from '#cluster/background/detached.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { type ExampleName, exampleOf, upOptions } from '#cluster/config/options.js';
import { type ClusterSettings, type RuntimeName, readSettings, writeSettings } from '#cluster/config/settings.js';
import type { IngressPorts, StartOptions } from '#cluster/config/start-options.js';
import { type HostNetwork, hostNetworks, primaryRange, unusedRange } from '#cluster/machine/network.js';
import { refuseCollisions, refusePodRange, refuseServiceRange } from '#cluster/machine/network-ranges.js';
import { checkedNodeIPs, machineNodeName } from '#cluster/machine/node-identity.js';
import { whyNoContainers, whyNoEtcd } from '#cluster/machine/preflight.js';
import { readIdentity, runningProcesses } from '#cluster/process/identity.js';
import { choosePort, portIsFree, randomPort } from '#cluster/process/ports.js';
import { type ProgressSink, progressPrinter } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import type { OptionValues } from '#daemon/options/option.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';

type UpOptions = OptionValues<typeof upOptions>;

const preferredApiPort = 6443;

export interface ExampleRun {
  readonly name: ExampleName;
  /** The administrator's client configuration. */
  readonly clientConfig: string;
  readonly dialect: Dialect;
  /** Command for `orchctl`. */
  readonly ctl: string;
  readonly ingressPort: number | undefined;
}

/** Applies an example; resolves with commands to try on it. */
export type RunExample = (run: ExampleRun, sink: ProgressSink, out: NodeJS.WriteStream) => Promise<readonly string[]>;

export interface UpDependencies {
  readonly guarded: GuardedProcess;
  /** Loads the code for examples. */
  readonly examples: () => Promise<RunExample>;
}

export async function up(argv: readonly string[], { guarded, examples }: UpDependencies): Promise<number> {
  const description = 'Start a cluster on this machine, or start an existing one again.';
  const parsed = commandOptions(upOptions, argv, { program: 'orch up', description });
  if (parsed === undefined) return 0;
  const options = parsed.values;
  const layout = layoutOf(resolve(options['data-dir']));
  const sink = progressPrinter(process.stdout, realClock);
  if (readIdentity(layout.process) !== undefined) {
    process.stdout.write(`The cluster in ${layout.root} is already running.\n`);
  } else {
    const settings = await resolveSettings(options, parsed.given, layout);
    if (settings.runtime === 'simulated' && exampleOf(options.example) === 'shop')
      throw new SetupError('--example shop needs real containers: start it with --runtime containerd');
    const start: StartOptions = {
      dataDir: layout.root,
      separate: options.separate,
      bindAddress: options['bind-address'],
      advertiseAddress: checkedAdvertiseAddress(options['advertise-address']),
      nodeIPs: checkedNodeIPs(options['node-ip']),
      clusterDns: checkedClusterDns(options['cluster-dns']),
      localStorage: options['local-storage'],
      serviceProxy: options['service-proxy'],
      ingress: await checkedIngress(options, parsed.given),
      verbosity: options.v,
      featureGates: options['feature-gates'],
      schedulerConfig: readable(options['scheduler-config']),
      daemonOptions: {
        apiServer: [...(options.dashboard ? ['dashboard=true'] : []), ...options['apiserver-arg']],
        controllerManager: options['controller-manager-arg'],
        scheduler: options['scheduler-arg'],
        nodeAgent: options['nodeagent-arg'],
      },
      foreignRuntime: options['container-runtime-endpoint'],
      foreignEtcd:
        options['etcd-servers'].length === 0
          ? undefined
          : {
              endpoints: options['etcd-servers'],
              caFile: options['etcd-cafile'],
              certFile: options['etcd-certfile'],
              keyFile: options['etcd-keyfile'],
            },
    };
    process.stdout.write(`Starting a cluster of ${describeNodes(settings)} in ${layout.root}\n`);
    if (!options.detach) {
      // Only this branch loads the daemons' code.
      const { serveCluster } = await import('#cluster/supervise/serve.js');
      return serveCluster(start, settings, {
        guarded,
        progress: sink,
        onReady: async () => {
          await greet(options, { layout, sink, examples });
          process.stdout.write('\nPress Ctrl-C to stop the cluster.\n');
        },
      });
    }
    await startInBackground(start, layout, sink);
  }
  await greet(options, { layout, sink, examples });
  return 0;
}

/** The absolute path. Throws a SetupError when there is no such file. */
function readable(path: string | undefined): string | undefined {
  if (path === undefined || path === '') return undefined;
  if (!existsSync(path)) throw new SetupError(`--scheduler-config: there is no file ${path}`);
  return resolve(path);
}

/** Throws a SetupError for a value that is no usable address. */
function checkedAdvertiseAddress(address: string | undefined): string | undefined {
  if (address === undefined || address === '') return undefined;
  if (ipFamily(address) === 0 || address === '0.0.0.0' || address === '::')
    throw new SetupError(`--advertise-address ${JSON.stringify(address)} must be an address of this machine`);
  return address;
}

/** Throws a SetupError for a port that is in use. @param given Names of the options on the command line. */
async function checkedIngress(options: UpOptions, given: ReadonlySet<string>): Promise<IngressPorts | undefined> {
  const isImplied = exampleOf(options.example) === 'shop' && !given.has('ingress');
  if (options.ingress !== 'built-in' && !isImplied) return undefined;
  for (const name of ['ingress-http-port', 'ingress-https-port'] as const) {
    const port = options[name];
    if (port !== 0 && !(await portIsFree(port, options['bind-address'])))
      throw new SetupError(`port ${port} is in use by another program; choose another one with --${name}`);
  }
  return { http: options['ingress-http-port'], https: options['ingress-https-port'] };
}

/** Throws a SetupError for a value that is neither a keyword nor an address. */
function checkedClusterDns(dns: string): string {
  if (dns !== 'built-in' && dns !== 'none' && ipFamily(dns) === 0)
    throw new SetupError(`--cluster-dns ${JSON.stringify(dns)} must be built-in, none, or an address`);
  return dns;
}

/** Reads the settings of the cluster, or creates them. Throws a SetupError for options that contradict them. */
async function resolveSettings(
  options: UpOptions,
  given: ReadonlySet<string>,
  layout: Layout,
): Promise<ClusterSettings> {
  mkdirSync(layout.root, { recursive: true, mode: 0o700 });
  if (existsSync(layout.restoring)) {
    const from = readFileSync(layout.restoring, 'utf8').trim();
    const again = `orch backup restore ${from} --data-dir=${layout.root} --replace`;
    throw new SetupError(`a restore into ${layout.root} was interrupted; run it again: ${again}`);
  }
  const existing = readSettings(layout.settings);
  if (existing?.joined !== undefined)
    throw new SetupError(
      `${layout.root} is a node of the cluster at ${existing.joined.server}; start it with: orch join`,
    );
  if (existing?.server?.joined !== undefined)
    throw new SetupError(
      `${layout.root} is a server of the cluster at ${existing.server.joined.server}; start it with: orch join`,
    );
  if (existing !== undefined) refuseChanges(existing, options, given);
  const settings =
    existing === undefined ? await newSettings(options, given) : await reclaimPorts(existing, options, layout);
  const path = process.env['PATH'] ?? '';
  if (settings.store === 'etcd' && options['etcd-servers'].length === 0) {
    const why = whyNoEtcd(path);
    if (why !== undefined) throw new SetupError(why);
  }
  if (settings.runtime === 'containerd' && options['container-runtime-endpoint'] === undefined) {
    const why = whyNoContainers({ path, isRoot: process.getuid?.() === 0 });
    if (why !== undefined) throw new SetupError(`${why}; for a cluster without containers: --runtime simulated`);
  }
  if (settings !== existing) writeSettings(layout.settings, settings);
  return settings;
}

async function newSettings(options: UpOptions, given: ReadonlySet<string>): Promise<ClusterSettings> {
  const count = options.nodes > 0 ? options.nodes : 1;
  const runtime = chooseRuntime(options);
  if (options['container-runtime-endpoint'] !== undefined && count > 1) {
    throw new SetupError('--container-runtime-endpoint serves one node; leave --nodes out');
  }
  const networks = await hostNetworks();
  if (runtime === 'containerd') refuseCollisions(givenRanges(options, given), await withoutStaleBridges(networks));
  refusePodRange(options['cluster-cidr'], count);
  refuseServiceRange(options['service-cluster-ip-range']);
  return {
    dialect: options.dialect === 'kubernetes' ? 'kubernetes' : 'orch',
    runtime,
    store: options.store === 'memory' ? 'memory' : 'etcd',
    nodes: nodeNames(count),
    apiPort:
      options['secure-port'] > 0
        ? options['secure-port']
        : await choosePort(preferredApiPort, options['bind-address'], Math.random),
    ...(await storePorts()),
    serviceRange: options['service-cluster-ip-range'],
    podRange: given.has('cluster-cidr')
      ? options['cluster-cidr']
      : unusedRange(
          options['cluster-cidr'],
          networks.map(({ address }) => address),
        ),
  };
}

/** Ranges on the command line. Pods of a foreign runtime are in its network, which exists already. */
function givenRanges(options: UpOptions, given: ReadonlySet<string>): Map<string, string> {
  const ranges = new Map<string, string>();
  for (const name of ['service-cluster-ip-range', 'cluster-cidr'] as const) {
    const foreign = name === 'cluster-cidr' && options['container-runtime-endpoint'] !== undefined;
    if (given.has(name) && !foreign) ranges.set(name, primaryRange(options[name]));
  }
  return ranges;
}

/** Bridges of killed runs do not count: the start removes them. */
async function withoutStaleBridges(networks: readonly HostNetwork[]): Promise<HostNetwork[]> {
  // Loaded only for real containers.
  const { staleBridges } = await import('#containerd/bridges.js');
  const dead = new Set((await staleBridges()).map(({ name }) => name));
  return networks.filter(({ link }) => !dead.has(link));
}

async function storePorts(): Promise<Pick<ClusterSettings, 'etcdClientPort' | 'etcdPeerPort'>> {
  const pick = () => randomPort('127.0.0.1', Math.random);
  return { etcdClientPort: await pick(), etcdPeerPort: await pick() };
}

/**
 * Replaces ports of the store that other programs have bound while the cluster was down. Throws a SetupError when the
 * port of the API server is in use: it stands in the users' client configs and stays.
 */
async function reclaimPorts(settings: ClusterSettings, options: UpOptions, layout: Layout): Promise<ClusterSettings> {
  // Programs of a killed cluster process hold the ports, and are stopped before the start.
  if ((await runningProcesses(layout.run)).size > 0) return settings;
  if (!(await portIsFree(settings.apiPort, options['bind-address']))) {
    throw new SetupError(`port ${settings.apiPort} of the API server is in use by another program`);
  }
  const free = await Promise.all(
    [settings.etcdClientPort, settings.etcdPeerPort].map((port) => portIsFree(port, '127.0.0.1')),
  );
  return free.every(Boolean) ? settings : { ...settings, ...(await storePorts()) };
}

function chooseRuntime(options: UpOptions): RuntimeName {
  if (options['container-runtime-endpoint'] !== undefined) return 'containerd';
  if (options.runtime === 'containerd' || options.runtime === 'simulated') return options.runtime;
  const why = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
  if (why === undefined) return 'containerd';
  process.stdout.write(`Containers are simulated: ${why}.\n`);
  return 'simulated';
}

function refuseChanges(existing: ClusterSettings, options: UpOptions, given: ReadonlySet<string>): void {
  const fixed: [string, unknown, unknown][] = [
    ['dialect', existing.dialect, options.dialect],
    ['runtime', existing.runtime, options.runtime],
    ['store', existing.store, options.store],
    ['nodes', existing.nodes.length, options.nodes],
    ['secure-port', existing.apiPort, options['secure-port']],
    ['service-cluster-ip-range', existing.serviceRange, options['service-cluster-ip-range']],
    ['cluster-cidr', existing.podRange, options['cluster-cidr']],
  ];
  for (const [name, current, requested] of fixed) {
    if (!given.has(name) || current === requested) continue;
    throw new SetupError(
      `--${name} ${String(requested)}: the cluster in ${options['data-dir']} was created with ${String(current)}; use another --data-dir, or remove it with: orch down --delete`,
    );
  }
}

/** A single node is named after the machine, several are numbered. */
function nodeNames(count: number): string[] {
  return count > 1 ? Array.from({ length: count }, (_, i) => `node-${i}`) : [machineNodeName()];
}

function describeNodes({ nodes, runtime, dialect }: ClusterSettings): string {
  const count = nodes.length === 1 ? 'one node' : `${nodes.length} nodes`;
  return `${count} (${runtime}, ${dialect} dialect)`;
}

/** Runs the example, if any, and prints the next commands. */
async function greet(
  options: UpOptions,
  { layout, sink, examples }: Pick<UpDependencies, 'examples'> & { layout: Layout; sink: ProgressSink },
): Promise<void> {
  const ingressPort =
    options.ingress === 'none' && options.example !== 'shop' ? undefined : options['ingress-http-port'];
  const out = process.stdout;
  const inHere = existsSync(join(process.cwd(), 'bin', 'orchctl'));
  const ctl = `${inHere ? 'bin/' : ''}orchctl`;
  const name = exampleOf(options.example);
  let steps: readonly string[] = [`${ctl} apply -f examples/   # a small web server, three times`];
  if (name !== undefined) {
    const runExample = await examples();
    const dialect = dialectByName(readSettings(layout.settings)?.dialect ?? 'orch');
    steps = await runExample({ name, clientConfig: layout.clientConfig, dialect, ctl, ingressPort }, sink, out);
  }
  out.write(`\nThe cluster is ready. Talk to it:\n\n`);
  out.write(`  export KUBECONFIG=${layout.clientConfig}\n`);
  out.write(`  ${ctl} get nodes            # or kubectl\n`);
  for (const line of steps) out.write(`  ${line}\n`);
  out.write(`  ${inHere ? 'bin/' : ''}orch down --data-dir ${layout.root}\n`);
}
