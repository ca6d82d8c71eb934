/** The command lines of a cluster's daemons, both as processes and in one process. */

import type { Dialect } from '#apimachinery/dialect.js';
import type { ForeignEtcd, IngressPorts } from '#cluster/config/start-options.js';
import type { ClusterPki } from '#cluster/pki/cluster-pki.js';

/** Feature gates by name; gates that are absent keep the daemons' defaults. */
export type Gates = Readonly<Record<string, boolean>>;

/** `A=true,B=false`; undefined without gates. */
function gatesText(gates: Gates = {}): string | undefined {
  const entries = Object.entries(gates);
  return entries.length === 0 ? undefined : entries.map(([name, on]) => `${name}=${on}`).join(',');
}

/** Options by name; undefined ones are left out. */
type Arguments = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** @param more The user's options, `name=value`. They come last and so override the others. */
function commandLine(args: Arguments, more: readonly string[] = []): string[] {
  const own = Object.entries(args).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [`--${name}=${Array.isArray(value) ? value.join(',') : String(value)}`];
  });
  return [...own, ...more.map((option) => `--${option}`)];
}

export interface AuditFiles {
  readonly policy: string;
  readonly log: string;
}

/** Age in days, number and size in megabytes of rotated audit logs, as the CIS benchmark recommends them. */
const auditRotation = { maxAge: 30, maxBackup: 10, maxSize: 100 };

export interface ApiServerArguments {
  readonly dialect: Dialect;
  readonly etcd: ForeignEtcd | undefined;
  readonly bindAddress: string;
  /** 0: no socket. */
  readonly port: number;
  readonly advertiseAddress: string | undefined;
  readonly serviceRange: string;
  readonly featureGates?: Gates | undefined;
  readonly verbosity: number;
  /** Serve profiles at `/debug/pprof/`; absent: the daemon's default. */
  readonly profiling?: boolean;
  /** Absent: no audit log. */
  readonly audit?: AuditFiles | undefined;
  /** The user's options, `name=value`. */
  readonly more?: readonly string[] | undefined;
  /** Files of the cluster's certificates and keys. */
  readonly files: {
    readonly ca: string | undefined;
    readonly certificate: string | undefined;
    readonly key: string | undefined;
    readonly nodeAgentClientCertificate: string | undefined;
    readonly nodeAgentClientKey: string | undefined;
    readonly frontProxyCa: string | undefined;
    readonly frontProxyCertificate: string | undefined;
    readonly frontProxyKey: string | undefined;
    readonly serviceAccountKey: string | undefined;
    readonly serviceAccountPublicKey: string | undefined;
  };
}

export function apiServerArguments(options: ApiServerArguments): string[] {
  const { audit, dialect, etcd, files, more } = options;
  const args: Arguments = {
    dialect: dialect.name,
    'etcd-servers': etcd?.endpoints,
    'etcd-cafile': etcd?.caFile,
    'etcd-certfile': etcd?.certFile,
    'etcd-keyfile': etcd?.keyFile,
    'bind-address': options.bindAddress,
    'secure-port': options.port,
    'advertise-address': options.advertiseAddress,
    'service-cluster-ip-range': options.serviceRange,
    'authorization-mode': ['Node', 'RBAC'],
    'enable-admission-plugins': ['NodeRestriction'],
    // Nodes join with bootstrap tokens.
    'enable-bootstrap-token-auth': true,
    'client-ca-file': files.ca,
    'tls-cert-file': files.certificate,
    'tls-private-key-file': files.key,
    'nodeagent-client-certificate': files.nodeAgentClientCertificate,
    'nodeagent-client-key': files.nodeAgentClientKey,
    'nodeagent-certificate-authority': files.ca,
    'nodeagent-preferred-address-types': ['InternalIP', 'Hostname'],
    'requestheader-client-ca-file': files.frontProxyCa,
    // The same as kubeadm's: extension API servers read these names from the cluster.
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': files.frontProxyCertificate,
    'proxy-client-key-file': files.frontProxyKey,
    // The machine of the API server may be no node, so cluster IPs may not work on it.
    'enable-aggregator-routing': true,
    'service-account-issuer': serviceAccountIssuer(dialect),
    'service-account-signing-key-file': files.serviceAccountKey,
    'service-account-key-file': files.serviceAccountPublicKey,
    ...(audit === undefined ? {} : auditArguments(audit)),
    profiling: options.profiling,
    'feature-gates': gatesText(options.featureGates),
    v: options.verbosity,
  };
  return commandLine(args, more);
}

/** In batches, so that requests do not wait for the disk. */
function auditArguments({ policy, log }: AuditFiles): Arguments {
  return {
    'audit-policy-file': policy,
    'audit-log-path': log,
    'audit-log-mode': 'batch',
    'audit-log-maxage': auditRotation.maxAge,
    'audit-log-maxbackup': auditRotation.maxBackup,
    'audit-log-maxsize': auditRotation.maxSize,
  };
}

/** Issuer of service account tokens: the API's address inside the cluster. */
function serviceAccountIssuer(dialect: Dialect): string {
  return `https://${dialect.apiServiceName}.${dialect.namespaces.default}.svc`;
}

export interface LoopArguments {
  readonly dialect: Dialect;
  /** Path of the client config; undefined in one process. */
  readonly config: string | undefined;
  /** HTTPS port on loopback; 0: none. */
  readonly port: number;
  readonly certDir: string | undefined;
  readonly leaderElect: boolean;
  readonly featureGates?: Gates | undefined;
  readonly verbosity: number;
  /** Serve profiles at `/debug/pprof/`; absent: the daemon's default. */
  readonly profiling?: boolean;
  /** The user's options, `name=value`. */
  readonly more?: readonly string[] | undefined;
}

/** Arguments of controllers and scheduler in one process: without a port and without leader election. */
export function loopsInProcess(options: Pick<LoopArguments, 'dialect' | 'featureGates' | 'verbosity'>): LoopArguments {
  const { dialect, featureGates, verbosity } = options;
  return { dialect, config: undefined, port: 0, certDir: undefined, leaderElect: false, featureGates, verbosity };
}

export function schedulerArguments(
  options: LoopArguments & {
    /** Path of the configuration file. */
    readonly schedulerConfig: string | undefined;
  },
): string[] {
  const { config, schedulerConfig } = options;
  // The configuration file names the client config itself, and overrides the option.
  const orchconfig = schedulerConfig === undefined ? config : undefined;
  return commandLine({ ...loopArguments(options), orchconfig, config: schedulerConfig }, options.more);
}

export function controllerManagerArguments(
  options: LoopArguments & {
    /** Range of all pods, or one of each family. */
    readonly podRange: string;
    readonly serviceRange: string;
    /** Each controller acts as its own service account. */
    readonly ownAccounts?: boolean;
    /** Controllers that run; all when absent. */
    readonly controllers?: readonly string[];
    /** Key files; undefined in one process. */
    readonly files: Pick<ClusterPki, 'authority' | 'serviceAccount'> | undefined;
  },
): string[] {
  const { files, more } = options;
  const args: Arguments = {
    ...loopArguments(options),
    'allocate-node-cidrs': true,
    // `*` does not include the controllers of bootstrap tokens.
    controllers: options.controllers ?? ['*', 'bootstrapsigner', 'tokencleaner'],
    'cluster-cidr': options.podRange,
    'service-cluster-ip-range': options.serviceRange,
    'use-service-account-credentials': options.ownAccounts,
    'root-ca-file': files?.authority.certificateFile,
    'service-account-private-key-file': files?.serviceAccount.privateKeyFile,
    'cluster-signing-cert-file': files?.authority.certificateFile,
    'cluster-signing-key-file': files?.authority.privateKeyFile,
  };
  return commandLine(args, more);
}

function loopArguments(options: LoopArguments): Arguments {
  const { certDir, config, dialect, featureGates, leaderElect, port, verbosity } = options;
  return {
    dialect: dialect.name,
    orchconfig: config,
    'authentication-orchconfig': config,
    'authorization-orchconfig': config,
    'bind-address': '127.0.0.1',
    'secure-port': port,
    'cert-dir': certDir,
    'leader-elect': leaderElect,
    profiling: options.profiling,
    'feature-gates': gatesText(featureGates),
    v: verbosity,
  };
}

/** Name server of a node's pods. */
export interface NodeDnsArguments {
  readonly server: string;
  /** The agent runs the name server itself. */
  readonly isOwn: boolean;
}

/** The machine's pod network, in the process of one of its agents. */
export interface PodNetworkArguments {
  /** Range of all pods, or one of each family. */
  readonly podRange: string;
  /** The nodes of this machine. */
  readonly nodes: readonly string[];
}

/** The machine's service proxy, in the process of one of its agents. */
export interface NodeProxyArguments extends PodNetworkArguments {
  /** Name of its nftables table. */
  readonly table: string;
}

export interface NodeCertificateArguments {
  /** Path of a client config for the first certificate; undefined when the node has one. */
  readonly bootstrapConfig: string | undefined;
}

export interface NodeAgentArguments {
  readonly dialect: Dialect;
  readonly nodeName: string;
  /** The agent serves at the first one. */
  readonly nodeIPs: readonly string[];
  /** 0: any free port. */
  readonly port: number;
  readonly config: string | undefined;
  /** Set for a node that requests its certificates from the cluster. */
  readonly certificates?: NodeCertificateArguments | undefined;
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** `cgroupRoot`: existing parent of its pods' cgroups. */
  readonly runtime: { readonly endpoint: string; readonly cgroupRoot?: string } | undefined;
  readonly pauseImage: string | undefined;
  /** Absent: pods use the machine's resolvers. */
  readonly dns?: NodeDnsArguments | undefined;
  /** Absent: this agent runs no service proxy. */
  readonly proxy?: NodeProxyArguments | undefined;
  /** Absent: this agent runs no pod network. */
  readonly network?: PodNetworkArguments | undefined;
  readonly featureGates?: Gates | undefined;
  readonly files: {
    readonly ca: string | undefined;
    readonly certificate: string | undefined;
    readonly key: string | undefined;
  };
  readonly verbosity: number;
  /** The user's options, `name=value`. */
  readonly more?: readonly string[] | undefined;
}

export interface IngressArguments {
  readonly dialect: Dialect;
  /** Path of the client config; undefined in one process. */
  readonly config: string | undefined;
  readonly bindAddress: string;
  readonly ports: IngressPorts;
  /** Published addresses of this machine. */
  readonly addresses: readonly string[];
  /** `host:port` of its metrics; absent in one process. */
  readonly metricsAddress?: string;
  readonly verbosity: number;
}

export function ingressArguments({ addresses, ports, ...options }: IngressArguments): string[] {
  return commandLine({
    dialect: options.dialect.name,
    orchconfig: options.config,
    'bind-address': options.bindAddress,
    'http-port': ports.http,
    'https-port': ports.https,
    'publish-address': addresses,
    'healthz-bind-address': '',
    'metrics-bind-address': options.metricsAddress,
    v: options.verbosity,
  });
}

/** DNS domain of Services, also in the API server's certificate. */
export const clusterDomain = 'cluster.local';

/** The usual port of node agents. Another node of this machine may use it. */
const nodeAgentPort = 10_250;

/** Preferred port of the node with that index; 0: any free port. */
export function preferredNodeAgentPort(place: number): number {
  return place === 0 ? nodeAgentPort : 0;
}

export function nodeAgentArguments(options: NodeAgentArguments): string[] {
  const args: Arguments = {
    dialect: options.dialect.name,
    kubeconfig: options.config,
    'bootstrap-kubeconfig': options.certificates?.bootstrapConfig,
    'rotate-certificates': options.certificates === undefined ? undefined : true,
    'rotate-server-certificates': options.certificates === undefined ? undefined : true,
    'hostname-override': options.nodeName,
    'node-ip': options.nodeIPs,
    'root-dir': options.rootDir,
    'cert-dir': `${options.rootDir}/pki`,
    'pod-logs-dir': options.podLogsDir,
    'container-runtime-endpoint': options.runtime?.endpoint,
    'cgroup-root': options.runtime?.cgroupRoot,
    'pod-infra-container-image': options.pauseImage,
    'dns-address': options.dns?.isOwn === true ? options.dns.server : undefined,
    'cluster-dns': options.dns?.server,
    'cluster-domain': options.dns === undefined ? undefined : clusterDomain,
    'service-proxy': options.proxy === undefined ? undefined : true,
    'service-proxy-table': options.proxy?.table,
    'service-proxy-cluster-cidr': options.proxy?.podRange,
    'service-proxy-nodes': options.proxy?.nodes,
    // Clusters of this machine may have the same Service addresses.
    'service-proxy-cluster-ips-internal': options.proxy === undefined ? undefined : true,
    'pod-network': options.network === undefined ? undefined : true,
    'pod-network-cluster-cidr': options.network?.podRange,
    'pod-network-nodes': options.network?.nodes,
    'feature-gates': gatesText(options.featureGates),
    address: options.nodeIPs[0],
    port: options.port,
    // Several agents of one machine cannot share a port.
    'healthz-port': 0,
    'read-only-port': 0,
    'anonymous-auth': false,
    'authentication-token-webhook': true,
    'authorization-mode': 'Webhook',
    'client-ca-file': options.files.ca,
    'tls-cert-file': options.files.certificate,
    'tls-private-key-file': options.files.key,
    'fail-swap-on': false,
    // A cluster on one machine does not overload a registry.
    'registry-qps': 0,
    // The default rates protect a remote API server; this one is on the same machine.
    'orch-api-qps': 50,
    'orch-api-burst': 100,
    v: options.verbosity,
  };
  return commandLine(args, options.more);
}

/** Certificate and key files of the API server. */
export function apiServerFiles(pki: ClusterPki): ApiServerArguments['files'] {
  return {
    ca: pki.authority.certificateFile,
    certificate: pki.apiServer.certificateFile,
    key: pki.apiServer.privateKeyFile,
    nodeAgentClientCertificate: pki.apiServerNodeAgentClient.certificateFile,
    nodeAgentClientKey: pki.apiServerNodeAgentClient.privateKeyFile,
    frontProxyCa: pki.frontProxyAuthority.certificateFile,
    frontProxyCertificate: pki.frontProxyClient.certificateFile,
    frontProxyKey: pki.frontProxyClient.privateKeyFile,
    serviceAccountKey: pki.serviceAccount.privateKeyFile,
    serviceAccountPublicKey: pki.serviceAccount.publicKeyFile,
  };
}
