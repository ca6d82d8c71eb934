/** Options of the commands of `orch`. */
import type { OptionTable } from '#daemon/options/option.js';

/** Directory of the machine owner's systemd units. */
export const unitsDir = '/etc/systemd/system';

export const outputOption = {
  output: {
    type: 'string',
    shorthand: 'o',
    oneOf: ['table', 'json'],
    default: 'table',
    section: 'Output',
    meaning: 'Output format.',
  },
} as const satisfies OptionTable;

/** Access to an etcd that `orch up` does not run. */
export const etcdOptions = {
  'etcd-servers': {
    type: 'strings',
    section: 'Store',
    meaning: 'Addresses of an existing etcd, instead of the cluster’s own one.',
  },
  'etcd-cafile': { type: 'string', section: 'Store', meaning: 'CA of that etcd.' },
  'etcd-certfile': { type: 'string', section: 'Store', meaning: 'Client certificate for that etcd.' },
  'etcd-keyfile': { type: 'string', section: 'Store', meaning: 'Key of that certificate.' },
} as const satisfies OptionTable;

const defaultDataDir = '/var/lib/orch';

export const dataDir = {
  'data-dir': {
    type: 'string',
    default: defaultDataDir,
    section: 'Cluster',
    meaning: 'Directory of all files of the cluster.',
  },
} as const satisfies OptionTable;

const exampleNames = ['web', 'shop'] as const;

export type ExampleName = (typeof exampleNames)[number];

/** The example that the option names, if any. */
export function exampleOf(option: string): ExampleName | undefined {
  return exampleNames.find((name) => name === option);
}

/** An option per daemon option, because values may contain commas. */
const optionOf = (daemon: string) =>
  ({
    type: 'stringArray',
    section: 'Daemons',
    meaning: `Option of ${daemon} for this start, NAME=VALUE; repeatable. Its own --help lists them. Options of its process, such as ports and profiles, take effect with --separate only.`,
  }) as const;

export const upOptions = {
  ...dataDir,
  dialect: {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    section: 'Cluster',
    meaning: "Names in the cluster's API; fixed when it is created. Default: orch, or the existing cluster's.",
  },
  runtime: {
    type: 'string',
    oneOf: ['containerd', 'simulated'],
    section: 'Nodes',
    meaning: 'Container runtime. Default: containerd where it can run, else simulated.',
  },
  nodes: {
    type: 'int',
    default: 0,
    section: 'Nodes',
    meaning: 'Number of nodes; fixed when the cluster is created. Default: 1.',
  },
  'container-runtime-endpoint': {
    type: 'string',
    section: 'Nodes',
    meaning: 'Socket of an existing container runtime, which the single node uses.',
  },
  'node-ip': {
    type: 'strings',
    section: 'Nodes',
    meaning:
      'Address of this machine at which its nodes serve; two for both families. Default: that of the host name, else of the interface with the default route. With 127.0.0.1 only this machine reaches the node agents, and Services of pods in its network get no endpoints.',
  },
  store: {
    type: 'string',
    oneOf: ['etcd', 'memory'],
    section: 'Store',
    meaning: 'Storage of objects; memory loses them when the cluster stops. Default: etcd.',
  },
  ...etcdOptions,
  separate: {
    type: 'bool',
    section: 'Processes',
    meaning: 'Run each daemon as a process of its own.',
  },
  detach: {
    type: 'bool',
    shorthand: 'd',
    section: 'Processes',
    meaning: 'Return when the cluster is ready; it keeps running in the background.',
  },
  'bind-address': {
    type: 'string',
    default: '0.0.0.0',
    section: 'Serving',
    meaning: 'Address on which the API server listens.',
  },
  'advertise-address': {
    type: 'string',
    section: 'Serving',
    meaning:
      'Address at which other machines reach the API server; joining nodes use it. Default: the first of --node-ip, else of this machine.',
  },
  'secure-port': {
    type: 'int',
    default: 0,
    section: 'Serving',
    meaning: 'Port of the API server; fixed when the cluster is created. Default: 6443, or a free one.',
  },
  'service-cluster-ip-range': {
    type: 'string',
    default: '10.96.0.0/16',
    section: 'Network',
    meaning:
      'Addresses of Services: an IPv4 range, and optionally an IPv6 range after a comma; fixed when the cluster is created.',
  },
  'cluster-cidr': {
    type: 'string',
    default: '10.244.0.0/16',
    section: 'Network',
    meaning:
      'Addresses of pods: an IPv4 range with a /24 for each node, and optionally an IPv6 range with a /64 for each node after a comma; fixed when the cluster is created. The default changes when this machine has an address in it; a given range that overlaps one of its networks is refused.',
  },
  'cluster-dns': {
    type: 'string',
    default: 'built-in',
    section: 'Network',
    meaning:
      'Name server of the pods: built-in, the address of a name server that runs in the cluster, or none for the resolvers of this machine.',
  },
  'local-storage': {
    type: 'bool',
    default: true,
    section: 'Storage',
    meaning: 'Create the StorageClass local, whose volumes are directories of the nodes, unless it exists.',
  },
  'service-proxy': {
    type: 'string',
    default: 'built-in',
    oneOf: ['built-in', 'none'],
    section: 'Network',
    meaning:
      'Forwarding of Service addresses to pods, and network policies: built-in, with the program nft, or with iptables and without network policies, or none, where another program does it.',
  },
  ingress: {
    type: 'string',
    default: 'none',
    oneOf: ['built-in', 'none'],
    section: 'Network',
    meaning:
      'Ingress controller: built-in, with the IngressClass built-in, or none, where another program serves Ingresses.',
  },
  'ingress-http-port': {
    type: 'int',
    default: 80,
    section: 'Network',
    meaning: 'HTTP port of the built-in ingress controller, at --bind-address; 0 for none.',
  },
  'ingress-https-port': {
    type: 'int',
    default: 443,
    section: 'Network',
    meaning: 'HTTPS port of the built-in ingress controller; 0 for none.',
  },
  dashboard: {
    type: 'bool',
    section: 'Serving',
    meaning:
      'Serve the dashboard below /ui/ of the API server, to users with a token. `orchctl ui` shows it without this.',
  },
  'scheduler-config': {
    type: 'string',
    section: 'Daemons',
    meaning: 'Configuration file of the scheduler: profiles, plugins and extenders.',
  },
  'feature-gates': {
    type: 'boolMap',
    section: 'Daemons',
    meaning: 'Feature gates of all daemons, key=true|false, comma separated. Their own --help lists them.',
  },
  'apiserver-arg': optionOf('the API server'),
  'controller-manager-arg': optionOf('the controller manager'),
  'scheduler-arg': optionOf('the scheduler'),
  'nodeagent-arg': optionOf('the node agents'),
  example: {
    type: 'string',
    default: '',
    oneOf: ['', ...exampleNames],
    section: 'Start',
    meaning:
      'Run an example of the folder examples and wait until it is ready. The shop implies --ingress built-in unless --ingress is given.',
  },
  v: { type: 'int', default: 0, section: 'Logging', meaning: 'Verbosity of the log.' },
} as const satisfies OptionTable;

export const downOptions = {
  ...dataDir,
  delete: { type: 'bool', section: 'Cluster', meaning: 'Remove the data directory too. The cluster is lost for good.' },
} as const satisfies OptionTable;

export const joinOptions = {
  ...dataDir,
  token: { type: 'string', section: 'Cluster', meaning: 'Token by which cluster and node recognize each other.' },
  'ca-hash': {
    type: 'string',
    section: 'Cluster',
    meaning: 'Hash of the public key of the cluster’s authority, sha256:…; other clusters are refused.',
  },
  install: {
    type: 'bool',
    section: 'Nodes',
    meaning:
      'Install missing Debian packages with apt-get. Without it the command asks on a terminal, and fails elsewhere.',
  },
  'bootstrap-kubeconfig': {
    type: 'string',
    section: 'Cluster',
    meaning:
      'Client config by which cluster and node recognize each other, instead of SERVER, --token and --ca-hash. It is used again when the certificate of the node has expired.',
  },
  wait: {
    type: 'duration',
    default: 0,
    section: 'Cluster',
    meaning: 'Longest wait until the cluster answers with the settings of its nodes.',
  },
  server: {
    type: 'bool',
    section: 'Cluster',
    meaning:
      'Become one more server: an etcd member, an API server, and standby controllers and scheduler. Its token comes from: orch token create --server.',
  },
  'node-name': { type: 'string', section: 'Nodes', meaning: 'Name of the node. Default: that of the host.' },
  'node-ip': upOptions['node-ip'],
  'in-container': {
    type: 'bool',
    section: 'Nodes',
    meaning:
      'The machine is a container: the node offers the resources of its root cgroup, less 256 MiB for its own programs, instead of those of the whole machine.',
  },
  runtime: upOptions.runtime,
  detach: { ...upOptions.detach, meaning: 'Return when the node is Ready; it keeps running in the background.' },
  'feature-gates': upOptions['feature-gates'],
  'nodeagent-arg': optionOf('the node agent'),
  v: upOptions.v,
} as const satisfies OptionTable;

export const leaveOptions = {
  ...dataDir,
  timeout: {
    type: 'duration',
    default: 300_000,
    section: 'Leaving',
    meaning: 'Longest wait until the pods are evicted; 0 for no limit. Disruption budgets may delay them.',
  },
  force: {
    type: 'bool',
    section: 'Leaving',
    meaning: 'Continue when the cluster is unreachable or pods cannot be evicted: they stop with the node.',
  },
} as const satisfies OptionTable;

export const installOptions = {
  ...dataDir,
  'unit-dir': {
    type: 'string',
    default: unitsDir,
    section: 'Service',
    meaning: 'Directory of the systemd units.',
  },
  name: { type: 'string', default: 'orch', section: 'Service', meaning: 'Name of the service.' },
} as const satisfies OptionTable;
