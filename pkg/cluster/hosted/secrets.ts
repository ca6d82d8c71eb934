/** The Secrets of a hosted control plane. Each program gets only the keys and certificates that it needs. Pure. */
import type { Dialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import type { ClusterPki } from '#cluster/pki/cluster-pki.js';
import type { EtcdPki } from '#cluster/pki/etcd-pki.js';
import type { KeyCertificate } from '#pki/certificate.js';

/** File contents by name. */
export type Files = Readonly<Record<string, string>>;

export interface HostedPki {
  readonly dialect: Dialect;
  readonly cluster: ClusterPki;
  readonly etcd: EtcdPki;
  /** URL of the API server. */
  readonly server: string;
  /** Optional programs by the suffix of their Secrets. */
  readonly clients: ReadonlyMap<string, HostedClient>;
}

export interface HostedClient {
  readonly user: string;
  readonly pair: KeyCertificate;
}

/** Contents of the Secrets by their suffix. */
export function hostedSecrets(pki: HostedPki): ReadonlyMap<string, Files> {
  const { dialect, cluster, etcd } = pki;
  const { authority, serviceAccount } = cluster;
  const ca = { 'ca.crt': authority.certificate };
  const serviceAccountKey = { 'sa.key': serviceAccount.privateKey };
  return new Map<string, Files>([
    [
      'apiserver',
      {
        ...ca,
        ...serviceAccountKey,
        'sa.pub': serviceAccount.publicKey,
        ...pair('apiserver', cluster.apiServer),
        ...pair('node-agent-client', cluster.apiServerNodeAgentClient),
        'front-proxy-ca.crt': cluster.frontProxyAuthority.certificate,
        ...pair('front-proxy-client', cluster.frontProxyClient),
        'etcd-ca.crt': etcd.authority.certificate,
        ...pair('etcd-client', etcd.client),
      },
    ],
    [
      'etcd',
      { 'etcd-ca.crt': etcd.authority.certificate, ...pair('etcd', etcd.server), ...pair('client', etcd.client) },
    ],
    [
      'controller-manager',
      {
        // It signs certificate requests.
        ...pair('ca', authority),
        ...serviceAccountKey,
        ...pair('client', cluster.controllerManager),
        kubeconfig: clientConfig(pki, dialect.users.controllerManager),
      },
    ],
    [
      'scheduler',
      { ...ca, ...pair('client', cluster.scheduler), kubeconfig: clientConfig(pki, dialect.users.scheduler) },
    ],
    ['metrics', { ...ca, ...pair('client', cluster.prometheus) }],
    ...[...pki.clients].map(([name, { pair: client, user }]): [string, Files] => [
      name,
      { ...ca, ...pair('client', client), kubeconfig: clientConfig(pki, user) },
    ]),
    ['admin', { kubeconfig: portableConfig(pki, dialect.users.admin, cluster.admin) }],
  ]);
}

function pair(name: string, { certificate, privateKey }: KeyCertificate): Files {
  return { [`${name}.crt`]: certificate, [`${name}.key`]: privateKey };
}

/** A client config that names the files beside it, which its reader reloads after renewals. */
function clientConfig({ dialect, server }: HostedPki, userName: string): string {
  const config = singleContext({ server, userName, clusterName: dialect.product });
  for (const { cluster } of config.clusters) cluster['certificate-authority'] = 'ca.crt';
  for (const { user } of config.users)
    Object.assign(user, { 'client-certificate': 'client.crt', 'client-key': 'client.key' });
  return formatKubeconfig(config);
}

/** A client config that embeds its certificates, for other machines. */
function portableConfig({ cluster, dialect, server }: HostedPki, userName: string, client: KeyCertificate): string {
  return formatKubeconfig(
    singleContext({
      ...{ server, userName, clusterName: dialect.product },
      ca: cluster.authority.certificate,
      clientCertificate: client.certificate,
      clientKey: client.privateKey,
    }),
  );
}
