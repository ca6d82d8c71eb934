/** Makes this machine one more server of a cluster: its settings and the authorities are on its disk then. */
import { mkdirSync } from 'node:fs';
import { realClock } from '#apimachinery/clock.js';
import { connect } from '#client/rest/client-config.js';
import {
  type ClusterSettings,
  portIsFree,
  randomPort,
  type ServerSettings,
  writeSettings,
} from '#cmd/orch/context/settings.js';
import { findCluster, tokenClient } from '#cmd/orch/find-cluster.js';
import { installMissing } from '#cmd/orch/install-missing.js';
import { asSetupError, checkedPin, refuseNoContainers, refuseUnfit } from '#cmd/orch/join-refusals.js';
import type { JoinSurroundings } from '#cmd/orch/join-surroundings.js';
import type { DiscoveredCluster } from '#cmd/orch/joining/discover.js';
import { type NodeSettings, readNodeSettings } from '#cmd/orch/joining/node-settings.js';
import { type Invitation, writeAuthorities } from '#cmd/orch/members/invitation.js';
import { openInvitation } from '#cmd/orch/members/invite.js';
import { isForOthers, serverPorts } from '#cmd/orch/members/server-ports.js';
import { parseServerToken, type ServerToken } from '#cmd/orch/members/server-token.js';
import { checkedNodeIPs, machineNodeName } from '#cmd/orch/node-identity.js';
import { ensureClusterPki } from '#cmd/orch/pki/cluster-pki.js';
import { whyNoEtcd } from '#cmd/orch/preflight.js';
import { step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { staticTls } from '#http/client/credentials.js';
import { findNodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { memoryFileStore } from '#pki/file-store.js';

/** Rejects with a SetupError that says what is in the way; nothing is on the disk then. */
export async function becomeServer(
  server: string,
  { options, layout, sink }: JoinSurroundings,
): Promise<ClusterSettings> {
  const token = parseServerToken(options.token ?? '');
  if (token === undefined)
    throw new SetupError(
      '--token is needed, one for servers, of three parts; make one on a server: orch token create --server',
    );
  const pin = checkedPin(options['ca-hash']);
  const runtime = options.runtime === 'simulated' ? 'simulated' : 'containerd';
  await installMissing({ server: true, isWished: options.install }, sink);
  refuseNoContainers(runtime);
  const whyNot = whyNoEtcd(process.env['PATH'] ?? '');
  if (whyNot !== undefined) throw new SetupError(whyNot);
  const name = options['node-name'] ?? machineNodeName();
  const nodeIPs = checkedNodeIPs(options['node-ip']);
  const { addresses } = await findNodeAddresses({ nodeIPs, nodeName: name }, hostNetwork);
  const [address = ''] = addresses;
  if (!isForOthers(address)) throw new SetupError('this machine has no address for other servers; give --node-ip');
  const cluster = await findCluster({ server, token, pin }, sink);
  const invitation = await step(sink, 'authorities received', () => received(cluster, token).catch(asSetupError));
  const known = await clusterAllows(cluster, invitation, name, runtime);
  const { apiPort } = invitation.settings;
  if (!(await portIsFree(apiPort, '0.0.0.0')))
    throw new SetupError(`port ${apiPort}, which all API servers of the cluster have, is in use by another program`);
  const { clusterDns, serviceProxy } = known;
  const ports = await serverPorts(address);
  const { etcd } = invitation;
  const own: ServerSettings = {
    ...{ name, address, ...ports },
    joined: { server: cluster.server, nodeIPs, clusterDns, serviceProxy, etcd },
  };
  const settings: ClusterSettings = {
    ...invitation.settings,
    ...{ runtime, store: 'etcd', nodes: [name], server: own },
    etcdClientPort: await randomPort('127.0.0.1', Math.random),
    etcdPeerPort: ports.peerPort,
  };
  mkdirSync(layout.pki, { recursive: true, mode: 0o700 });
  writeAuthorities(layout, invitation);
  writeSettings(layout.settings, settings);
  return settings;
}

/** Over a connection to the cluster that the hash names, and sealed besides. */
async function received(cluster: DiscoveredCluster, token: ServerToken): Promise<Invitation> {
  const client = tokenClient(cluster, token);
  try {
    return await openInvitation(client, token);
  } finally {
    await client.close();
  }
}

/** Looks as the administrator that a server is, with a certificate that it makes in memory. */
async function clusterAllows(
  { ca, dialect, server }: DiscoveredCluster,
  { files }: Invitation,
  name: string,
  runtime: ClusterSettings['runtime'],
): Promise<NodeSettings> {
  const store = memoryFileStore(new Map(Object.entries(files)));
  const { admin } = await ensureClusterPki(store, { dialect, names: [], ips: [], now: realClock.now() });
  const tls = staticTls({ ca, cert: admin.certificate, key: admin.privateKey });
  const client = connect({ server, tls, namespace: 'default' }, { dialect, clock: realClock });
  try {
    const known = await readNodeSettings(client).catch(asSetupError);
    await refuseUnfit(client, name, known, runtime);
    return known;
  } finally {
    await client.close();
  }
}
