/** `orch join`: makes this machine a node or a server of a cluster, or starts it again. */
import { mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { startInBackground } from '#cluster/background/detached.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { joinOptions } from '#cluster/config/options.js';
import {
  type ClusterSettings,
  type JoinedCluster,
  joinedOf,
  readSettings,
  writeSettings,
} from '#cluster/config/settings.js';
import type { StartOptions } from '#cluster/config/start-options.js';
import {
  authorityIn,
  type IntroductionOptions,
  introducer,
  type JoinContext,
  retryFor,
} from '#cluster/join/introduction.js';
import { asSetupError, refuseNoContainers, refuseUnfit, serverUrl } from '#cluster/join/refusals.js';
import { reservedHere } from '#cluster/machine/container-limits.js';
import { installMissing } from '#cluster/machine/install-packages.js';
import { checkedNodeIPs, machineNodeName } from '#cluster/machine/node-identity.js';
import { readNodeSettings } from '#cluster/objects/node-settings.js';
import { readIdentity } from '#cluster/process/identity.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import { progressPrinter } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { validCertificate } from '#nodeagent/certificates/client-config.js';
import { publicKeyPin } from '#pki/keys.js';

export async function join(argv: readonly string[], guarded: GuardedProcess): Promise<number> {
  const description =
    'Make this machine a node of a cluster, or with --server one more of its servers, or start it again: orch join [SERVER --token TOKEN --ca-hash HASH].\nTo print the whole command: orchctl token create --print-join-command; for servers: orch token create --server';
  const parsed = commandOptions(joinOptions, argv, { program: 'orch join', allowArgs: true, description });
  if (parsed === undefined) return 0;
  const options = parsed.values;
  const layout = layoutOf(resolve(options['data-dir']));
  const sink = progressPrinter(process.stdout, realClock);
  if (readIdentity(layout.process) !== undefined) {
    process.stdout.write(`The node in ${layout.root} is already running.\n`);
    return 0;
  }
  const settings = await joinedSettings(parsed.args, { options, layout, sink });
  const joined = joinedOf(settings);
  if (joined === undefined)
    throw new SetupError(`${layout.root} holds another cluster; use another --data-dir, or: orch down --delete`);
  refuseNoContainers(settings.runtime);
  const role = settings.server === undefined ? 'node' : 'server';
  const reserved = options['in-container'] ? await reservedHere() : undefined;
  const start = startOptions(options, layout, joined, reserved === undefined ? [] : [`system-reserved=${reserved}`]);
  const greeting = `\nThis machine is the ${role} ${settings.nodes[0]} of the cluster at ${joined.server}.\nTo remove it from the cluster: orch leave --data-dir ${layout.root}\n`;
  if (options.detach) {
    await startInBackground(start, layout, sink);
    process.stdout.write(greeting);
    return 0;
  }
  const { serveCluster } = await import('#cluster/supervise/serve.js');
  return serveCluster(start, settings, {
    guarded,
    progress: sink,
    onReady: async () => {
      process.stdout.write(`${greeting}\nPress Ctrl-C to stop the ${role}; other nodes take over its pods.\n`);
    },
  });
}

/** The settings of the machine; joins the cluster first where there are none. */
async function joinedSettings(args: readonly string[], context: JoinContext): Promise<ClusterSettings> {
  const { layout, options } = context;
  const [address, ...more] = args;
  if (more.length > 0) throw new SetupError(`expected one SERVER, got ${args.join(' ')}`);
  const existing = readSettings(layout.settings);
  if (existing !== undefined) {
    refuseOther(existing, address, context);
    if (options['bootstrap-kubeconfig'] !== undefined) await renewIntroduction(existing, context);
    return existing;
  }
  if (!options.server) return becomeNode(address, context);
  if (address === undefined)
    throw new SetupError('SERVER is missing; print the whole command on a server with: orch token create --server');
  const { becomeServer } = await import('#cluster/join/become-server.js');
  return becomeServer(serverUrl(address), context);
}

/** Throws a SetupError when the directory holds another node than the command line names. */
function refuseOther(existing: ClusterSettings, address: string | undefined, context: JoinContext): void {
  const { layout, options } = context;
  const joined = joinedOf(existing);
  const leave = `leave it with: orch leave --data-dir ${layout.root}`;
  if (address !== undefined && joined !== undefined && serverUrl(address) !== joined.server)
    throw new SetupError(`${layout.root} belongs to the cluster at ${joined.server}; ${leave}`);
  const name = options['node-name'];
  if (name !== undefined && joined !== undefined && name !== existing.nodes[0])
    throw new SetupError(`${layout.root} is the node ${existing.nodes[0]}, not ${name}; ${leave}`);
}

/** Lets a node whose certificate has expired request a new one with the bootstrap client config. */
async function renewIntroduction(existing: ClusterSettings, { options, layout, sink }: JoinContext): Promise<void> {
  const introduction = introducer(introductionOptions(undefined, options), sink);
  if (
    publicKeyPin(readFileSync(layout.joinedCa)) !==
    publicKeyPin(await authorityIn(options['bootstrap-kubeconfig'] ?? ''))
  )
    throw new SetupError(
      `${layout.root} holds a node of another cluster, whose authority has another key; empty it to join this one`,
    );
  try {
    const own = await loadKubeconfig(layout.componentConfig(`node-${existing.nodes[0]}`), { clock: realClock });
    await validCertificate(own, realClock);
  } catch (error) {
    process.stdout.write(`Requesting a new certificate: ${messageOf(error)}\n`);
    const { client, config } = await retryFor(options.wait, sink, introduction);
    await client.close();
    replaceFile(layout.componentConfig('bootstrap'), config(layout.joinedCa));
  }
}

function introductionOptions(server: string | undefined, options: JoinContext['options']): IntroductionOptions {
  return { server, token: options.token, pin: options['ca-hash'], file: options['bootstrap-kubeconfig'] };
}

async function becomeNode(
  address: string | undefined,
  { options, layout, sink }: JoinContext,
): Promise<ClusterSettings> {
  const runtime = options.runtime === 'simulated' ? 'simulated' : 'containerd';
  const name = options['node-name'] ?? machineNodeName();
  checkedNodeIPs(options['node-ip']);
  const introduction = introducer(introductionOptions(address, options), sink);
  if (runtime === 'containerd') await installMissing({ server: false, isRequested: options.install }, sink);
  refuseNoContainers(runtime);
  const { ca, client, config, dialect, nodeSettings, server } = await retryFor(options.wait, sink, async () => {
    const introduced = await introduction();
    try {
      return { ...introduced, nodeSettings: await readNodeSettings(introduced.client) };
    } catch (error) {
      await introduced.client.close();
      return asSetupError(error);
    }
  });
  try {
    await refuseUnfit(client, name, nodeSettings, runtime);
    mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
    replaceFile(layout.joinedCa, ca);
    replaceFile(layout.componentConfig('bootstrap'), config(layout.joinedCa));
    const { podRange, serviceRange, clusterDns, serviceProxy } = nodeSettings;
    const settings: ClusterSettings = {
      ...{ dialect: dialect.name, runtime, nodes: [name], serviceRange, podRange },
      ...{ store: 'etcd', apiPort: 0, etcdClientPort: 0, etcdPeerPort: 0 },
      joined: { server, nodeIPs: options['node-ip'], clusterDns, serviceProxy },
    };
    writeSettings(layout.settings, settings);
    return settings;
  } finally {
    await client.close();
  }
}

/** @param own Options of the node agent, before the user's. */
function startOptions(
  options: JoinContext['options'],
  layout: Layout,
  joined: JoinedCluster,
  own: readonly string[],
): StartOptions {
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
    daemonOptions: {
      apiServer: [],
      controllerManager: [],
      scheduler: [],
      nodeAgent: [...own, ...options['nodeagent-arg']],
    },
    foreignRuntime: undefined,
    foreignEtcd: undefined,
  };
}
