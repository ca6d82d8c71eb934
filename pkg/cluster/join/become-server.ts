/** Makes this machine one more server of a cluster: writes its settings and the cluster's authorities. */
import { mkdirSync } from 'node:fs';
import { realClock } from '#apimachinery/clock.js';
import { connect } from '#client/rest/client-config.js';
import { isReachableAddress, serverPorts } from '#cluster/config/etcd-member.js';
import { type ClusterSettings, type ServerSettings, writeSettings } from '#cluster/config/settings.js';
import { type DiscoveredCluster, findCluster, tokenClient } from '#cluster/join/discover.js';
import type { JoinContext } from '#cluster/join/introduction.js';
import { asSetupError, checkedPin, refuseNoContainers, refuseUnfit } from '#cluster/join/refusals.js';
import { installMissing } from '#cluster/machine/install-packages.js';
import { checkedNodeIPs, machineNodeName } from '#cluster/machine/node-identity.js';
import { whyNoEtcd } from '#cluster/machine/preflight.js';
import { type Invitation, openInvitation, writeAuthorities } from '#cluster/members/invitation.js';
import { parseServerToken, type ServerToken } from '#cluster/members/server-token.js';
import { type NodeSettings, readNodeSettings } from '#cluster/objects/node-settings.js';
import { ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { portIsFree, randomPort } from '#cluster/process/ports.js';
import { step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { staticTls } from '#http/client/credentials.js';
import { findNodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import { memoryFileStore } from '#pki/file-store.js';

/** Rejects with a SetupError when the machine cannot become a server; nothing is written then. */
export async function becomeServer(server: string, { options, layout, sink }: JoinContext): Promise<ClusterSettings> {
  const token = parseServerToken(options.token ?? '');
  if (token === undefined)
    throw new SetupError(
      '--token must be a server token of three parts; create one on a server: orch token create --server',
    );
  const pin = checkedPin(options['ca-hash']);
  const runtime = options.runtime === 'simulated' ? 'simulated' : 'containerd';
  await installMissing({ server: true, isRequested: options.install }, sink);
  refuseNoContainers(runtime);
  const problem = whyNoEtcd(process.env['PATH'] ?? '');
  if (problem !== undefined) throw new SetupError(problem);
  const name = options['node-name'] ?? machineNodeName();
  const nodeIPs = checkedNodeIPs(options['node-ip']);
  const { addresses } = await findNodeAddresses({ nodeIPs, nodeName: name }, hostNetwork);
  const [address = ''] = addresses;
  if (!isReachableAddress(address))
    throw new SetupError('this machine has no address that other servers can reach; give --node-ip');
  const cluster = await findCluster({ server, token, pin }, sink);
  const invitation = await step(sink, 'authorities received', () => readInvitation(cluster, token).catch(asSetupError));
  const { clusterDns, serviceProxy } = await checkedNodeSettings(cluster, invitation, name, runtime);
  const { apiPort } = invitation.settings;
  if (!(await portIsFree(apiPort, '0.0.0.0')))
    throw new SetupError(`port ${apiPort}, which all API servers of the cluster use, is in use by another program`);
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

/** Reads the sealed invitation over a connection to the pinned cluster. */
async function readInvitation(cluster: DiscoveredCluster, token: ServerToken): Promise<Invitation> {
  const client = tokenClient(cluster, token);
  try {
    return await openInvitation(client, token);
  } finally {
    await client.close();
  }
}

/** Reads the cluster's settings and checks the machine, with an administrator's certificate that is issued in memory. */
async function checkedNodeSettings(
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
    const settings = await readNodeSettings(client).catch(asSetupError);
    await refuseUnfit(client, name, settings, runtime);
    return settings;
  } finally {
    await client.close();
  }
}
