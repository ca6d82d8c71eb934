/** `orch join`: makes this machine a node of a cluster, or starts it again as the node that it is. */
import { mkdirSync } from 'node:fs';
import { join as joinPath, resolve } from 'node:path';
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import { parseBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { staticTls, staticToken } from '#client/http/credentials.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { connect } from '#client/rest/client-config.js';
import { startInBackground } from '#cmd/orch/background/detached.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, type JoinedCluster, readSettings, writeSettings } from '#cmd/orch/context/settings.js';
import type { StartOptions } from '#cmd/orch/context/start-options.js';
import { discoverCluster } from '#cmd/orch/joining/discover.js';
import { readNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { hostNetworks, overlaps, primaryRange } from '#cmd/orch/network.js';
import { checkedNodeIPs, machineNodeName } from '#cmd/orch/node-identity.js';
import { joinOptions } from '#cmd/orch/options.js';
import { whyNoContainers, whyNoServiceProxy } from '#cmd/orch/preflight.js';
import { readIdentity } from '#cmd/orch/process/identity.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';
import { type ProgressSink, progressPrinter, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionValues } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';

type JoinOptions = OptionValues<typeof joinOptions>;

/** How long a token that was just made may take until it signs; ms. */
const signatureMs = 10_000;

export async function join(argv: readonly string[], guarded: GuardedProcess): Promise<number> {
  const parsed = parseOptions(joinOptions, argv, { program: 'orch join', allowArgs: true });
  if (parsed.kind !== 'run') {
    const description =
      'Make this machine a node of a cluster, or start it again as the node that it is: orch join [SERVER --token TOKEN --ca-hash HASH].\nThe whole line is printed by: orchctl token create --print-join-command';
    process.stdout.write(helpText(joinOptions, { program: 'orch join', description }));
    return 0;
  }
  const options = parsed.values;
  const layout = layoutOf(resolve(options['data-dir']));
  const sink = progressPrinter(process.stdout, realClock);
  if (readIdentity(joinPath(layout.run, 'orch.pid')) !== undefined) {
    process.stdout.write(`The node in ${layout.root} runs already.\n`);
    return 0;
  }
  const settings = await joinedSettings(parsed.args, { options, layout, sink });
  const { joined } = settings;
  if (joined === undefined)
    throw new SetupError(`${layout.root} holds a cluster of its own; use another --data-dir, or: orch down --delete`);
  refuseNoContainers(settings.runtime);
  const start = startOptions(options, layout, joined);
  const greeting = `\nThis machine is the node ${settings.nodes[0]} of the cluster at ${joined.server}.\nTake it out again: orch leave --data-dir ${layout.root}\n`;
  if (options.detach) {
    await startInBackground(start, layout, sink);
    process.stdout.write(greeting);
    return 0;
  }
  const { serveCluster } = await import('#cmd/orch/serve.js');
  return serveCluster(start, settings, {
    guarded,
    progress: sink,
    onReady: async () => {
      process.stdout.write(`${greeting}\nPress Ctrl-C to stop the node; its pods go on elsewhere.\n`);
    },
  });
}

interface JoinSurroundings {
  readonly options: JoinOptions;
  readonly layout: Layout;
  readonly sink: ProgressSink;
}

/** What the machine is a node of already, or of what it becomes one. */
async function joinedSettings(args: readonly string[], surroundings: JoinSurroundings): Promise<ClusterSettings> {
  const { layout } = surroundings;
  const [address, ...more] = args;
  if (more.length > 0) throw new SetupError('orch join takes one server');
  const existing = readSettings(layout.settings);
  if (existing !== undefined) {
    if (address !== undefined && existing.joined !== undefined && serverUrl(address) !== existing.joined.server)
      throw new SetupError(
        `${layout.root} is a node of ${existing.joined.server}; take it out with: orch leave --data-dir ${layout.root}`,
      );
    return existing;
  }
  if (address === undefined)
    throw new SetupError(
      'say which cluster: orch join SERVER --token TOKEN --ca-hash HASH, as printed by: orchctl token create --print-join-command',
    );
  return becomeNode(serverUrl(address), surroundings);
}

async function becomeNode(server: string, { options, layout, sink }: JoinSurroundings): Promise<ClusterSettings> {
  const token = parseBootstrapToken(options.token ?? '');
  if (token === undefined) throw new SetupError('--token is needed: six and sixteen characters with a point between');
  const pin = options['ca-hash'] ?? '';
  if (!/^sha256:[0-9a-f]{64}$/i.test(pin))
    throw new SetupError('--ca-hash is needed: sha256: and 64 hexadecimal digits, as orchctl token create prints it');
  const runtime = options.runtime === 'simulated' ? 'simulated' : 'containerd';
  refuseNoContainers(runtime);
  checkedNodeIPs(options['node-ip']);
  const name = options['node-name'] ?? machineNodeName();
  const cluster = await step(
    sink,
    'cluster found',
    () => discoverCluster({ server, token, pin, clock: realClock, waitMs: signatureMs }).catch(asSetupError),
    ({ server: known }) => known,
  );
  const { dialect, ca } = cluster;
  const target = { server: cluster.server, tls: staticTls({ ca }), token: staticToken(`${token.id}.${token.secret}`) };
  const client = connect({ ...target, namespace: 'default' }, { dialect, clock: realClock });
  try {
    const known = await readNodeSettings(client).catch(asSetupError);
    await refuseTwin(client, name);
    if (runtime === 'containerd') {
      refuseNoServices(known.serviceProxy);
      await refuseOverlap(known.podRange);
    }
    mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
    replaceFile(layout.joinedCa, ca);
    const bootstrap = singleContext({
      ...{ server: cluster.server, ca, clusterName: dialect.product, userName: 'bootstrap' },
      token: `${token.id}.${token.secret}`,
    });
    replaceFile(layout.componentConfig('bootstrap'), formatKubeconfig(bootstrap));
    const { podRange, serviceRange, clusterDns, serviceProxy } = known;
    const settings: ClusterSettings = {
      ...{ dialect: dialect.name, runtime, nodes: [name], serviceRange, podRange },
      ...{ store: 'etcd', apiPort: 0, etcdClientPort: 0, etcdPeerPort: 0 },
      joined: { server: cluster.server, nodeIPs: options['node-ip'], clusterDns, serviceProxy },
    };
    writeSettings(layout.settings, settings);
    return settings;
  } finally {
    await client.close();
  }
}

/** A host, with or without its port and scheme. Throws a SetupError. */
function serverUrl(text: string): string {
  const url = text.includes('://') ? text : `https://${text}`;
  if (!URL.canParse(url)) throw new SetupError(`${JSON.stringify(text)} is no address of an API server`);
  const { protocol, host, port, hostname } = new URL(url);
  if (protocol !== 'https:') throw new SetupError(`${text}: API servers are reached by https`);
  return `https://${port === '' && !text.endsWith(':443') ? `${hostname}:6443` : host}`;
}

function refuseNoContainers(runtime: string): void {
  if (runtime !== 'containerd') return;
  const why = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
  if (why !== undefined) throw new SetupError(`this machine cannot run containers: ${why}`);
}

function refuseNoServices(serviceProxy: string): void {
  if (serviceProxy === 'none') return;
  const why = whyNoServiceProxy(process.env['PATH'] ?? '');
  if (why !== undefined) throw new SetupError(`services of the cluster would lead nowhere on this machine: ${why}`);
}

/** Two machines of one name would take each other's pods. */
async function refuseTwin(client: Client, name: string): Promise<void> {
  try {
    const node = await client.resource(nodes).get(name);
    if (!isNodeReady(node)) return;
  } catch (error) {
    if (isNotFound(error)) return;
    return asSetupError(error);
  }
  throw new SetupError(
    `the cluster has a node ${name} that is Ready; give --node-name, or delete it: orchctl delete node ${name}`,
  );
}

/** Pods could not reach what they have the addresses of. */
async function refuseOverlap(podRange: string): Promise<void> {
  const taken = (await hostNetworks()).find((network) => overlaps(primaryRange(podRange), network));
  if (taken === undefined) return;
  throw new SetupError(
    `pods of the cluster have addresses of ${primaryRange(podRange)}, and so has this machine: ${taken.address}/${taken.bits} of ${taken.link}`,
  );
}

function asSetupError(error: unknown): never {
  throw error instanceof SetupError ? error : new SetupError(messageOf(error), { cause: error });
}

function startOptions(options: JoinOptions, layout: Layout, joined: JoinedCluster): StartOptions {
  return {
    dataDir: layout.root,
    separate: false,
    bindAddress: '0.0.0.0',
    advertiseAddress: undefined,
    nodeIPs: options['node-ip'].length > 0 ? checkedNodeIPs(options['node-ip']) : joined.nodeIPs,
    clusterDns: joined.clusterDns,
    localStorage: false,
    ingress: undefined,
    serviceProxy: joined.serviceProxy,
    verbosity: options.v,
    featureGates: options['feature-gates'],
    schedulerConfig: undefined,
    daemonOptions: { apiServer: [], controllerManager: [], scheduler: [], nodeAgent: options['nodeagent-arg'] },
    foreignRuntime: undefined,
    foreignEtcd: undefined,
  };
}
