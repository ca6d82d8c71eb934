/** `orch token create --server`: lets another machine become a server of this cluster. */
import { join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { newBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { adminClient } from '#cluster/clients/api-clients.js';
import { isReachableAddress, serverEtcdEndpoint, serverPeerURL, serverPorts } from '#cluster/config/etcd-member.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { dataDir } from '#cluster/config/options.js';
import { type ClusterSettings, readSettings, type ServerSettings, writeSettings } from '#cluster/config/settings.js';
import { ownEtcdAccess } from '#cluster/etcd/access.js';
import { invitationOf, invite } from '#cluster/members/invitation.js';
import { formatServerToken, newServerKey } from '#cluster/members/server-token.js';
import { openSignal, type ProcessIdentity, readIdentity } from '#cluster/process/identity.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { runSubcommand } from '#cluster/terminal/subcommand.js';
import type { OptionTable } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';
import { findNodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { publicKeyPin } from '#pki/keys.js';

const help = `orch token creates the tokens with which machines become servers.

Usage:
  orch token create --server    print the command that makes another machine a server of this cluster

Tokens for nodes: orchctl token create --print-join-command
Help of the command: orch token create --help
`;

const hourMs = 3_600_000;
/** Longest time until the cluster is open to others; ms. */
const openMs = 60_000;
const pollMs = 100;

const options = {
  ...dataDir,
  server: {
    type: 'bool',
    section: 'Cluster',
    meaning:
      'Create the token of a server. The first one opens the cluster: etcd listens for other servers from then on.',
  },
  'advertise-address': {
    type: 'string',
    section: 'Cluster',
    meaning: 'Address at which the other servers reach this one; it never changes. Default: that of the node.',
  },
  ttl: { type: 'duration', default: 2 * hourMs, min: 1, section: 'Cluster', meaning: 'Lifetime of the token.' },
} as const satisfies OptionTable;

export async function token(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch token', help, argv, {
    create: {
      table: options,
      description: 'Print the command that makes another machine a server of this cluster.',
      run: async ({ values }) => {
        if (!values.server)
          throw new SetupError('expected --server; create tokens for nodes with: orchctl token create');
        const layout = layoutOf(resolve(values['data-dir']));
        stdout.write(`${await createServerToken(layout, values['advertise-address'], values.ttl)}\n`);
        return 0;
      },
    },
  });
}

async function createServerToken(layout: Layout, address: string | undefined, ttlMs: number): Promise<string> {
  const { settings, process: running } = runningServer(layout);
  const server = settings.server ?? (await newServer(settings, address));
  if (address !== undefined && address !== server.address)
    throw new SetupError(`the other servers know this one as ${server.address}, which cannot change`);
  if (settings.server === undefined) writeSettings(layout.settings, { ...settings, server });
  const members = await untilOpen(layout, server, running);
  const created = { ...newBootstrapToken(), key: newServerKey() };
  const client = await adminClient(layout, settings);
  try {
    const etcd = members.flatMap(({ clientURLs }) => clientURLs);
    const invitation = invitationOf(layout, settings, etcd);
    await invite(client, invitation, { token: created, expiresAt: realClock.now() + ttlMs });
    const pin = publicKeyPin(invitation.files['ca.crt'] ?? '');
    return `orch join https://${hostPort(server.address, settings.apiPort)} --token ${formatServerToken(created)} --ca-hash ${pin} --server`;
  } finally {
    await client.close();
  }
}

function runningServer(layout: Layout): { readonly settings: ClusterSettings; readonly process: ProcessIdentity } {
  const settings = readSettings(layout.settings);
  if (settings === undefined || settings.joined !== undefined)
    throw new SetupError(`${layout.root} holds no server of a cluster; give its --data-dir`);
  if (settings.store !== 'etcd') throw new SetupError('a cluster with --store memory cannot have more servers');
  const process = readIdentity(layout.process);
  if (process === undefined || readIdentity(join(layout.run, 'etcd.pid')) === undefined)
    throw new SetupError(`the cluster in ${layout.root} is not running with its own etcd; start it with: orch up`);
  return { settings, process };
}

async function newServer({ nodes }: ClusterSettings, requested: string | undefined): Promise<ServerSettings> {
  if (nodes.length > 1) throw new SetupError('a cluster with several nodes on one machine cannot have more servers');
  const [name = ''] = nodes;
  const { addresses } = await findNodeAddresses({ nodeIPs: [], nodeName: name }, hostNetwork);
  const address = requested ?? addresses[0] ?? '';
  if (!isReachableAddress(address))
    throw new SetupError('this machine has no address for other servers; give --advertise-address');
  return { name, address, ...(await serverPorts(address)) };
}

/** Resolves with the members of etcd when this one listens for the others. */
async function untilOpen(
  layout: Layout,
  server: ServerSettings,
  running: ProcessIdentity,
): Promise<readonly EtcdMember[]> {
  process.kill(running.pid, openSignal);
  const admin = new EtcdAdmin(ownEtcdAccess(layout, [serverEtcdEndpoint(server)]));
  const deadline = realClock.monotonic() + openMs;
  try {
    for (;;) {
      try {
        const members = await admin.members();
        if (members.some(({ peerURLs }) => peerURLs.includes(serverPeerURL(server)))) return members;
        throw new Error(`it does not listen at ${serverPeerURL(server)} yet`);
      } catch (error) {
        if (realClock.monotonic() > deadline)
          throw new SetupError(`etcd does not listen for other servers: ${messageOf(error)}; see ${layout.logs}`);
        await realClock.sleep(pollMs);
      }
    }
  } finally {
    admin.close();
  }
}
