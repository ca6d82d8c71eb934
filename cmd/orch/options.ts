import { unitsDir } from '#cmd/orch/background/service-unit.js';
import { dataDir } from '#cmd/orch/context/data-dir.js';
import { etcdOptions } from '#cmd/orch/context/etcd-options.js';
import type { OptionTable } from '#daemon/options/option.js';

const exampleNames = ['web', 'shop'] as const;

export type ExampleName = (typeof exampleNames)[number];

/** Undefined: none. */
export function exampleOf(option: string): ExampleName | undefined {
  return exampleNames.find((name) => name === option);
}

/** Not a list with commas between: values may have some. */
const optionOf = (daemon: string) =>
  ({
    type: 'stringArray',
    section: 'Daemons',
    meaning: `Option of ${daemon} at this start, NAME=VALUE; may be given several times. Its own --help names them. Those about a process of its own, such as ports and profiles, count with --separate only.`,
  }) as const;

export const upOptions = {
  ...dataDir,
  dialect: {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    section: 'Cluster',
    meaning: "Names that the cluster speaks; fixed when it is created. Default: orch, or the existing cluster's.",
  },
  runtime: {
    type: 'string',
    oneOf: ['containerd', 'simulated'],
    section: 'Nodes',
    meaning: 'What runs the containers. Default: containerd where it can run, else simulated.',
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
    meaning: 'Socket of a container runtime that runs already; the single node uses that one.',
  },
  'node-ip': {
    type: 'strings',
    section: 'Nodes',
    meaning:
      'Address of this machine that its nodes have and serve at; two for both families. Default: that of the host name, else of the interface with the default route. With 127.0.0.1 only this machine reaches the node agents, and Services of pods in its network get no endpoints.',
  },
  store: {
    type: 'string',
    oneOf: ['etcd', 'memory'],
    section: 'Store',
    meaning: 'Where objects are kept; memory forgets them at the end. Default: etcd.',
  },
  ...etcdOptions,
  separate: {
    type: 'bool',
    section: 'Processes',
    meaning: 'Run API server, controller manager, scheduler and node agent as a process each.',
  },
  detach: {
    type: 'bool',
    shorthand: 'd',
    section: 'Processes',
    meaning: 'Return when the cluster is ready; it goes on.',
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
      'Address at which other machines reach the API server: what nodes that join are told. Default: the first of --node-ip, else of this machine.',
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
      'Addresses of Services, of IPv4, and a range of IPv6 that may follow after a comma; fixed when the cluster is created.',
  },
  'cluster-cidr': {
    type: 'string',
    default: '10.244.0.0/16',
    section: 'Network',
    meaning:
      'Addresses of pods, a /24 for each node, and a /64 of a range of IPv6 that may follow after a comma; fixed when the cluster is created. The default makes way for addresses that this machine has; a range that overlaps one of its networks is refused.',
  },
  'cluster-dns': {
    type: 'string',
    default: 'built-in',
    section: 'Network',
    meaning:
      'Who answers questions of pods about names: built-in, the address of a name server that runs in the cluster, or none for the resolvers of this machine.',
  },
  'local-storage': {
    type: 'bool',
    default: true,
    section: 'Storage',
    meaning: 'Make the StorageClass local, whose volumes are directories of the nodes, where it is not there.',
  },
  'service-proxy': {
    type: 'string',
    default: 'built-in',
    oneOf: ['built-in', 'none'],
    section: 'Network',
    meaning:
      'Who leads addresses of Services to their pods and enforces network policies: built-in, by the program nft, or without network policies by iptables, or none, where another program does.',
  },
  ingress: {
    type: 'string',
    default: 'none',
    oneOf: ['built-in', 'none'],
    section: 'Network',
    meaning:
      'Who takes requests from outside and passes them on as Ingresses say: built-in, with the IngressClass built-in, or none, where another program does.',
  },
  'ingress-http-port': {
    type: 'int',
    default: 80,
    section: 'Network',
    meaning: 'Port of this machine at which the built-in one takes HTTP, at --bind-address; 0 for none.',
  },
  'ingress-https-port': {
    type: 'int',
    default: 443,
    section: 'Network',
    meaning: 'The same of HTTPS; 0 for none.',
  },
  'scheduler-config': {
    type: 'string',
    section: 'Daemons',
    meaning: 'Configuration file of the scheduler: profiles, plugins and extenders.',
  },
  'feature-gates': {
    type: 'boolMap',
    section: 'Daemons',
    meaning: 'Switches for features, key=true|false, comma separated, of all daemons. Their own --help names them.',
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
      'Run an example of the folder examples and wait for it. The shop comes with --ingress built-in, unless that says otherwise.',
  },
  v: { type: 'int', default: 0, section: 'Logging', meaning: 'Verbosity of the log.' },
} as const satisfies OptionTable;

export const downOptions = {
  ...dataDir,
  delete: { type: 'bool', section: 'Cluster', meaning: 'Remove the data directory too: the cluster is gone for good.' },
} as const satisfies OptionTable;

export const joinOptions = {
  ...dataDir,
  token: { type: 'string', section: 'Cluster', meaning: 'Token by which cluster and node know each other.' },
  'ca-hash': {
    type: 'string',
    section: 'Cluster',
    meaning: 'Hash of the public key of the cluster’s authority, sha256:…: no other cluster is believed.',
  },
  install: {
    type: 'bool',
    section: 'Nodes',
    meaning:
      'Install with apt-get what is missing of the Debian packages that a node needs. Without it that is asked on a terminal, and refused elsewhere.',
  },
  'bootstrap-kubeconfig': {
    type: 'string',
    section: 'Cluster',
    meaning:
      'Client config by which cluster and node know each other, instead of SERVER, --token and --ca-hash. It is asked again when the certificate of the node has ended.',
  },
  wait: {
    type: 'duration',
    default: 0,
    section: 'Cluster',
    meaning:
      'How long a cluster that is to be joined may take until it answers and tells nodes what they have to know.',
  },
  server: {
    type: 'bool',
    section: 'Cluster',
    meaning:
      'Become one more server: a member of etcd, an API server, and controllers and a scheduler that stand by. Its token comes from: orch token create --server.',
  },
  'node-name': { type: 'string', section: 'Nodes', meaning: 'Name of the node. Default: that of the host.' },
  'node-ip': upOptions['node-ip'],
  'in-container': {
    type: 'bool',
    section: 'Nodes',
    meaning:
      'The machine is a container: the node gives out what the cgroup that it sees as the root may use, less 256 MiB for what runs beside the pods, instead of all that the machine has.',
  },
  runtime: upOptions.runtime,
  detach: { ...upOptions.detach, meaning: 'Return when the node is Ready; it goes on.' },
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
    meaning: 'How long pods may take to go; 0 waits for ever. Disruption budgets may hold them.',
  },
  force: {
    type: 'bool',
    section: 'Leaving',
    meaning: 'Go on where the cluster cannot be reached or pods do not go: they are stopped with the node.',
  },
} as const satisfies OptionTable;

export const installOptions = {
  ...dataDir,
  'unit-dir': {
    type: 'string',
    default: unitsDir,
    section: 'Service',
    meaning: 'Directory of the units of systemd.',
  },
  name: { type: 'string', default: 'orch', section: 'Service', meaning: 'Name of the service.' },
} as const satisfies OptionTable;
