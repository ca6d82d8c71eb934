/** `orch join`: makes this machine a node of a cluster, or starts it again as the node that it is. */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { startInBackground } from '#cmd/orch/background/detached.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import {
  type ClusterSettings,
  type JoinedCluster,
  joinedOf,
  readSettings,
  writeSettings,
} from '#cmd/orch/context/settings.js';
import type { StartOptions } from '#cmd/orch/context/start-options.js';
import { findCluster, tokenClient } from '#cmd/orch/find-cluster.js';
import { asSetupError, checkedPin, refuseNoContainers, refuseUnfit, serverUrl } from '#cmd/orch/join-refusals.js';
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
  const start = startOptions(options, layout, joined);
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
  const { layout } = surroundings;
  const [address, ...more] = args;
  if (more.length > 0) throw new SetupError('orch join takes one server');
  const existing = readSettings(layout.settings);
  if (existing !== undefined) {
    const joined = joinedOf(existing);
    if (address !== undefined && joined !== undefined && serverUrl(address) !== joined.server)
      throw new SetupError(
        `${layout.root} belongs to the cluster at ${joined.server}; take it out with: orch leave --data-dir ${layout.root}`,
      );
    return existing;
  }
  if (address === undefined)
    throw new SetupError(
      'say which cluster: orch join SERVER --token TOKEN --ca-hash HASH, as printed by: orchctl token create --print-join-command',
    );
  if (!surroundings.options.server) return becomeNode(serverUrl(address), surroundings);
  const { becomeServer } = await import('#cmd/orch/become-server.js');
  return becomeServer(serverUrl(address), surroundings);
}

async function becomeNode(server: string, { options, layout, sink }: JoinSurroundings): Promise<ClusterSettings> {
  const token = parseBootstrapToken(options.token ?? '');
  if (token === undefined) throw new SetupError('--token is needed: six and sixteen characters with a point between');
  const pin = checkedPin(options['ca-hash']);
  const runtime = options.runtime === 'simulated' ? 'simulated' : 'containerd';
  refuseNoContainers(runtime);
  checkedNodeIPs(options['node-ip']);
  const name = options['node-name'] ?? machineNodeName();
  const cluster = await findCluster({ server, token, pin }, sink);
  const { dialect, ca } = cluster;
  const client = tokenClient(cluster, token);
  try {
    const known = await readNodeSettings(client).catch(asSetupError);
    await refuseUnfit(client, name, known, runtime);
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

function startOptions(options: JoinSurroundings['options'], layout: Layout, joined: JoinedCluster): StartOptions {
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
