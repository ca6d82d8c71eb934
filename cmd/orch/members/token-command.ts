/** `orch token create --server`: lets another machine become a server of this cluster. */
import { randomInt } from 'node:crypto';
import { join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { newBootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { dataDir } from '#cmd/orch/context/data-dir.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, readSettings, type ServerSettings, writeSettings } from '#cmd/orch/context/settings.js';
import { invitationOf } from '#cmd/orch/members/invitation.js';
import { invite } from '#cmd/orch/members/invite.js';
import { openSignal } from '#cmd/orch/members/open-signal.js';
import { isForOthers, serverPorts } from '#cmd/orch/members/server-ports.js';
import { formatServerToken, newServerKey } from '#cmd/orch/members/server-token.js';
import { adminClient } from '#cmd/orch/nodes/admin-client.js';
import { serverEtcdEndpoint, serverPeerURL } from '#cmd/orch/process/etcd.js';
import { type ProcessIdentity, readIdentity } from '#cmd/orch/process/identity.js';
import { ownEtcdAccess } from '#cmd/orch/store/etcd-access.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { runSubcommand } from '#cmd/orch/terminal/subcommand.js';
import type { OptionTable } from '#daemon/options/option.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';
import { findNodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { publicKeyPin } from '#pki/pin.js';

const help = `orch token makes the tokens with which machines become servers.

Usage:
  orch token create --server    print the command that makes another machine a server of this cluster

Tokens for nodes: orchctl token create --print-join-command
More: orch token create --help
`;

const hourMs = 3_600_000;
/** How long the cluster may take to be open to others; ms. */
const openMs = 60_000;
const pollMs = 100;

const options = {
  ...dataDir,
  server: {
    type: 'bool',
    section: 'Cluster',
    meaning: 'Of a server. The first one opens the cluster to others: its etcd listens for them from then on.',
  },
  'advertise-address': {
    type: 'string',
    section: 'Cluster',
    meaning: 'Address at which the other servers reach this one; it stays. Default: that of the node.',
  },
  ttl: { type: 'duration', default: 2 * hourMs, min: 1, section: 'Cluster', meaning: 'How long the token is good.' },
} as const satisfies OptionTable;

export async function token(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch token', help, argv, {
    create: {
      table: options,
      description: 'Print the command that makes another machine a server of this cluster.',
      run: async ({ values }) => {
        if (!values.server) throw new SetupError('tokens for nodes are made by: orchctl token create');
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
    throw new SetupError(`the other servers know this one as ${server.address}, which stays`);
  if (settings.server === undefined) writeSettings(layout.settings, { ...settings, server });
  const members = await untilOpen(layout, server, running);
  const made = { ...newBootstrapToken((end) => randomInt(end)), key: newServerKey() };
  const client = await adminClient(layout, settings);
  try {
    const etcd = members.flatMap(({ clientURLs }) => clientURLs);
    const invitation = invitationOf(layout, settings, etcd);
    await invite(client, invitation, { token: made, expiresAt: realClock.now() + ttlMs });
    const pin = publicKeyPin(invitation.files['ca.crt'] ?? '');
    return `orch join https://${hostPort(server.address, settings.apiPort)} --token ${formatServerToken(made)} --ca-hash ${pin} --server`;
  } finally {
    await client.close();
  }
}

function runningServer(layout: Layout): { readonly settings: ClusterSettings; readonly process: ProcessIdentity } {
  const settings = readSettings(layout.settings);
  if (settings === undefined || settings.joined !== undefined)
    throw new SetupError(`${layout.root} holds no server of a cluster; give its --data-dir`);
  if (settings.store !== 'etcd') throw new SetupError('a cluster that keeps its objects in memory has one server');
  const process = readIdentity(layout.process);
  if (process === undefined || readIdentity(join(layout.run, 'etcd.pid')) === undefined)
    throw new SetupError(`the cluster in ${layout.root} does not run with an etcd of its own; start it with: orch up`);
  return { settings, process };
}

async function newServer({ nodes }: ClusterSettings, wanted: string | undefined): Promise<ServerSettings> {
  if (nodes.length > 1)
    throw new SetupError('a cluster with several nodes on one machine is for trying things out, and has one server');
  const [name = ''] = nodes;
  const { addresses } = await findNodeAddresses({ nodeIPs: [], nodeName: name }, hostNetwork);
  const address = wanted ?? addresses[0] ?? '';
  if (!isForOthers(address))
    throw new SetupError('this machine has no address for other servers; give --advertise-address');
  return { name, address, ...(await serverPorts(address)) };
}

/** The members of etcd, when this one listens for others. */
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
        throw new Error(`it is not at ${serverPeerURL(server)} yet`);
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
