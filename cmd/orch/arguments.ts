/**
 * The command lines of a cluster's daemons: what `--separate` starts them with, and what the same daemons in one
 * process are built from.
 */

import type { Dialect } from '#apimachinery/dialect.js';
import type { ForeignEtcd, IngressPorts } from '#cmd/orch/context/start-options.js';
import type { ClusterPki } from '#cmd/orch/pki/cluster-pki.js';

/** Whether features are on, by name; those that are not named are as the daemons have them. */
export type Gates = Readonly<Record<string, boolean>>;

/** `A=true,B=false`; undefined without any. */
function gatesText(gates: Gates = {}): string | undefined {
  const entries = Object.entries(gates);
  return entries.length === 0 ? undefined : entries.map(([name, on]) => `${name}=${on}`).join(',');
}

/** Options by name; undefined ones are left out. */
type Arguments = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** @param more The user's own, `name=value`: they come last, so that of an option with one value theirs counts. */
function commandLine(args: Arguments, more: readonly string[] = []): string[] {
  const own = Object.entries(args).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [`--${name}=${Array.isArray(value) ? value.join(',') : String(value)}`];
  });
  return [...own, ...more.map((option) => `--${option}`)];
}

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
  /** Options that the user gives it, `name=value`. */
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
  const { dialect, etcd, files, more } = options;
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
    // Of nodes that join.
    'enable-bootstrap-token-auth': true,
    'client-ca-file': files.ca,
    'tls-cert-file': files.certificate,
    'tls-private-key-file': files.key,
    'nodeagent-client-certificate': files.nodeAgentClientCertificate,
    'nodeagent-client-key': files.nodeAgentClientKey,
    'nodeagent-certificate-authority': files.ca,
    'nodeagent-preferred-address-types': ['InternalIP', 'Hostname'],
    'requestheader-client-ca-file': files.frontProxyCa,
    // As kubeadm has them: extension API servers take from the cluster how the front proxy names users.
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': files.frontProxyCertificate,
    'proxy-client-key-file': files.frontProxyKey,
    // The machine of the API server need not be a node, where cluster IPs lead anywhere.
    'enable-aggregator-routing': true,
    'service-account-issuer': serviceAccountIssuer(dialect),
    'service-account-signing-key-file': files.serviceAccountKey,
    'service-account-key-file': files.serviceAccountPublicKey,
    'feature-gates': gatesText(options.featureGates),
    v: options.verbosity,
  };
  return commandLine(args, more);
}

/** The API's own address inside the cluster, as the issuer of its tokens. */
function serviceAccountIssuer(dialect: Dialect): string {
  return `https://${dialect.apiServiceName}.${dialect.namespaces.default}.svc`;
}

export interface LoopArguments {
  readonly dialect: Dialect;
  /** Client configuration; undefined in one process. */
  readonly config: string | undefined;
  /** HTTPS port on loopback; 0: none. */
  readonly port: number;
  readonly certDir: string | undefined;
  readonly leaderElect: boolean;
  readonly featureGates?: Gates | undefined;
  readonly verbosity: number;
  /** Options that the user gives it, `name=value`. */
  readonly more?: readonly string[] | undefined;
}

/** Of loops that serve nothing themselves and are the only ones of their cluster: those of one process. */
export function loopsInProcess(options: Pick<LoopArguments, 'dialect' | 'featureGates' | 'verbosity'>): LoopArguments {
  const { dialect, featureGates, verbosity } = options;
  return { dialect, config: undefined, port: 0, certDir: undefined, leaderElect: false, featureGates, verbosity };
}

export function schedulerArguments(
  options: LoopArguments & {
    /** Its configuration file, as of `--config`. */
    readonly schedulerConfig: string | undefined;
  },
): string[] {
  const { config, schedulerConfig } = options;
  // Beside a configuration file, which names the client itself, the option would count for nothing.
  const orchconfig = schedulerConfig === undefined ? config : undefined;
  return commandLine({ ...loopArguments(options), orchconfig, config: schedulerConfig }, options.more);
}

export function controllerManagerArguments(
  options: LoopArguments & {
    /** Of all pods: one range, or one of each family. */
    readonly podRange: string;
    readonly serviceRange: string;
    /** Where its keys are; undefined in one process. */
    readonly files: Pick<ClusterPki, 'authority' | 'serviceAccount'> | undefined;
  },
): string[] {
  const { files, more } = options;
  const args: Arguments = {
    ...loopArguments(options),
    'allocate-node-cidrs': true,
    // Those of bootstrap tokens are not among all that run unless told.
    controllers: ['*', 'bootstrapsigner', 'tokencleaner'],
    'cluster-cidr': options.podRange,
    'service-cluster-ip-range': options.serviceRange,
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
    'feature-gates': gatesText(featureGates),
    v: verbosity,
  };
}

/** Who answers the questions of pods. */
export interface NodeDnsArguments {
  readonly server: string;
  /** The agent answers at that address itself. */
  readonly isOwn: boolean;
}

/** The service proxy of a cluster, in the process of one of its agents. */
export interface NodeProxyArguments {
  readonly table: string;
  /** Of all pods: one range, or one of each family. */
  readonly podRange: string;
  /** All of them are this machine. */
  readonly nodes: readonly string[];
}

export interface NodeCertificateArguments {
  /** Client configuration with a token; undefined once the node is known. */
  readonly bootstrapConfig: string | undefined;
}

/** The network of the pods of a machine, in the process of one of its agents. */
export interface PodNetworkArguments {
  /** Of all pods: one range, or one of each family. */
  readonly podRange: string;
  /** All of them are this machine. */
  readonly nodes: readonly string[];
}

export interface NodeAgentArguments {
  readonly dialect: Dialect;
  readonly nodeName: string;
  /** The agent serves at the first. */
  readonly nodeIPs: readonly string[];
  /** 0: any free one. */
  readonly port: number;
  readonly config: string | undefined;
  /** Of a node that asks the cluster for its certificates. */
  readonly certificates?: NodeCertificateArguments | undefined;
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** `cgroupRoot`: where its pods have their cgroups, which must be there. */
  readonly runtime: { readonly endpoint: string; readonly cgroupRoot?: string } | undefined;
  readonly pauseImage: string | undefined;
  /** Absent: pods ask the machine's resolvers. */
  readonly dns?: NodeDnsArguments | undefined;
  /** Absent: another agent's process has it, or nobody. */
  readonly proxy?: NodeProxyArguments | undefined;
  /** Absent: another agent's process has it, or nobody. */
  readonly network?: PodNetworkArguments | undefined;
  readonly featureGates?: Gates | undefined;
  readonly files: {
    readonly ca: string | undefined;
    readonly certificate: string | undefined;
    readonly key: string | undefined;
  };
  readonly verbosity: number;
  /** Options that the user gives it, `name=value`. */
  readonly more?: readonly string[] | undefined;
}

export interface IngressArguments {
  readonly dialect: Dialect;
  /** Client configuration; undefined in one process. */
  readonly config: string | undefined;
  readonly bindAddress: string;
  readonly ports: IngressPorts;
  /** Where this machine is reached. */
  readonly addresses: readonly string[];
  /** `host:port` of a process of its own; absent: its metrics are those of the process that it is in. */
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

/** Also in the API server's certificate. */
export const clusterDomain = 'cluster.local';

/** Where clients look for a node's agent. Another cluster of this machine may have it already, or the nodes beside it. */
const nodeAgentPort = 10_250;

/** The port that the node at that place of the cluster's list prefers; 0: any free one. */
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
    // Several clusters of this machine may have the same addresses of services.
    'service-proxy-cluster-ips-internal': options.proxy === undefined ? undefined : true,
    'pod-network': options.network === undefined ? undefined : true,
    'pod-network-cluster-cidr': options.network?.podRange,
    'pod-network-nodes': options.network?.nodes,
    'feature-gates': gatesText(options.featureGates),
    address: options.nodeIPs[0],
    port: options.port,
    // Several agents share this machine.
    'healthz-port': 0,
    'read-only-port': 0,
    'anonymous-auth': false,
    'authentication-token-webhook': true,
    'authorization-mode': 'Webhook',
    'client-ca-file': options.files.ca,
    'tls-cert-file': options.files.certificate,
    'tls-private-key-file': options.files.key,
    'fail-swap-on': false,
    // Nobody else's registry has to be spared by a cluster on one machine.
    'registry-qps': 0,
    // The API server is this machine's, too: pods need not wait for the rate that spares a distant one.
    'orch-api-qps': 50,
    'orch-api-burst': 100,
    v: options.verbosity,
  };
  return commandLine(args, options.more);
}

/** The files of the cluster's certificates that the API server reads. */
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
