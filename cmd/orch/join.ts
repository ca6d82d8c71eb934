/** `orch join`: makes this machine a node of a cluster, or starts it again as the node that it is. */
import { mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { startInBackground } from '#cmd/orch/background/detached.js';
import { reservedHere } from '#cmd/orch/container-share.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import {
  type ClusterSettings,
  type JoinedCluster,
  joinedOf,
  readSettings,
  writeSettings,
} from '#cmd/orch/context/settings.js';
import type { StartOptions } from '#cmd/orch/context/start-options.js';
import { installMissing } from '#cmd/orch/install-missing.js';
import { authorityIn, type IntroductionOptions, introducer, keepAsking } from '#cmd/orch/introduction.js';
import { asSetupError, refuseNoContainers, refuseUnfit, serverUrl } from '#cmd/orch/join-refusals.js';
import type { JoinSurroundings } from '#cmd/orch/join-surroundings.js';
import { readNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { checkedNodeIPs, machineNodeName } from '#cmd/orch/node-identity.js';
import { joinOptions } from '#cmd/orch/options.js';
import { readIdentity } from '#cmd/orch/process/identity.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';
import { progressPrinter } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { helpText } from '#daemon/options/help.js';
import { parseOptions } from '#daemon/options/parse.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { validCertificate } from '#nodeagent/certificates/client-config.js';
import { publicKeyPin } from '#pki/pin.js';

export async function join(argv: readonly string[], guarded: GuardedProcess): Promise<number> {
  const parsed = parseOptions(joinOptions, argv, { program: 'orch join', allowArgs: true });
  if (parsed.kind !== 'run') {
    const description =
      'Make this machine a node of a cluster, or with --server one more of its servers, or start it again as what it is: orch join [SERVER --token TOKEN --ca-hash HASH].\nThe whole line is printed by: orchctl token create --print-join-command; for servers by: orch token create --server';
    process.stdout.write(helpText(joinOptions, { program: 'orch join', description }));
    return 0;
  }
  const options = parsed.values;
  const layout = layoutOf(resolve(options['data-dir']));
  const sink = progressPrinter(process.stdout, realClock);
  if (readIdentity(layout.process) !== undefined) {
    process.stdout.write(`The node in ${layout.root} runs already.\n`);
    return 0;
  }
  const settings = await joinedSettings(parsed.args, { options, layout, sink });
  const joined = joinedOf(settings);
  if (joined === undefined)
    throw new SetupError(`${layout.root} holds a cluster of its own; use another --data-dir, or: orch down --delete`);
  refuseNoContainers(settings.runtime);
  const role = settings.server === undefined ? 'node' : 'server';
  const reserved = options['in-container'] ? await reservedHere() : undefined;
  const start = startOptions(options, layout, joined, reserved === undefined ? [] : [`system-reserved=${reserved}`]);
  const greeting = `\nThis machine is the ${role} ${settings.nodes[0]} of the cluster at ${joined.server}.\nTake it out again: orch leave --data-dir ${layout.root}\n`;
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
      process.stdout.write(`${greeting}\nPress Ctrl-C to stop the ${role}; its pods go on elsewhere.\n`);
    },
  });
}

/** What the machine is a node of already, or of what it becomes one. */
async function joinedSettings(args: readonly string[], surroundings: JoinSurroundings): Promise<ClusterSettings> {
  const { layout, options } = surroundings;
  const [address, ...more] = args;
  if (more.length > 0) throw new SetupError('orch join takes one server');
  const existing = readSettings(layout.settings);
  if (existing !== undefined) {
    refuseOther(existing, address, surroundings);
    if (options['bootstrap-kubeconfig'] !== undefined) await introduceAgain(existing, surroundings);
    return existing;
  }
  if (!options.server) return becomeNode(address, surroundings);
  if (address === undefined)
    throw new SetupError('say which cluster: orch join --server SERVER …, as printed by: orch token create --server');
  const { becomeServer } = await import('#cmd/orch/become-server.js');
  return becomeServer(serverUrl(address), surroundings);
}

/** What the directory holds may be something else than what the command line says. */
function refuseOther(existing: ClusterSettings, address: string | undefined, surroundings: JoinSurroundings): void {
  const { layout, options } = surroundings;
  const joined = joinedOf(existing);
  const leave = `take it out with: orch leave --data-dir ${layout.root}`;
  if (address !== undefined && joined !== undefined && serverUrl(address) !== joined.server)
    throw new SetupError(`${layout.root} belongs to the cluster at ${joined.server}; ${leave}`);
  const name = options['node-name'];
  if (name !== undefined && joined !== undefined && name !== existing.nodes[0])
    throw new SetupError(`${layout.root} is the node ${existing.nodes[0]}, not ${name}; ${leave}`);
}

/** A node that was off for so long that its certificate has ended is let in once more. */
async function introduceAgain(existing: ClusterSettings, { options, layout, sink }: JoinSurroundings): Promise<void> {
  const introduction = introducer(introductionOptions(undefined, options), sink);
  if (
    publicKeyPin(readFileSync(layout.joinedCa)) !==
    publicKeyPin(await authorityIn(options['bootstrap-kubeconfig'] ?? ''))
  )
    throw new SetupError(
      `${layout.root} holds a node of another cluster, whose authority had another key; to join this one, remove what is in it`,
    );
  try {
    const own = await loadKubeconfig(layout.componentConfig(`node-${existing.nodes[0]}`), { clock: realClock });
    await validCertificate(own, realClock);
  } catch (error) {
    process.stdout.write(`The node asks for a certificate anew: ${messageOf(error)}\n`);
    const { client, config } = await keepAsking(options.wait, sink, introduction);
    await client.close();
    replaceFile(layout.componentConfig('bootstrap'), config(layout.joinedCa));
  }
}

function introductionOptions(server: string | undefined, options: JoinSurroundings['options']): IntroductionOptions {
  return { server, token: options.token, pin: options['ca-hash'], file: options['bootstrap-kubeconfig'] };
}

async function becomeNode(
  address: string | undefined,
  { options, layout, sink }: JoinSurroundings,
): Promise<ClusterSettings> {
  const runtime = options.runtime === 'simulated' ? 'simulated' : 'containerd';
  const name = options['node-name'] ?? machineNodeName();
  checkedNodeIPs(options['node-ip']);
  const introduction = introducer(introductionOptions(address, options), sink);
  if (runtime === 'containerd') await installMissing({ server: false, isWished: options.install }, sink);
  refuseNoContainers(runtime);
  const { ca, client, config, dialect, known, server } = await keepAsking(options.wait, sink, async () => {
    const made = await introduction();
    try {
      return { ...made, known: await readNodeSettings(made.client) };
    } catch (error) {
      await made.client.close();
      return asSetupError(error);
    }
  });
  try {
    await refuseUnfit(client, name, known, runtime);
    mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
    replaceFile(layout.joinedCa, ca);
    replaceFile(layout.componentConfig('bootstrap'), config(layout.joinedCa));
    const { podRange, serviceRange, clusterDns, serviceProxy } = known;
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

/** @param own Options of the node agent that the user's come after. */
function startOptions(
  options: JoinSurroundings['options'],
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
