import type { OptionTable } from '#daemon/options/option.js';

/** Programs that not every control plane has. */
export const clientNames = ['ingress', 'service-proxy', 'node-agent'] as const;

const hostedDialect = {
  dialect: {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    default: 'orch',
    section: 'Control plane',
    meaning: 'Names that the hosted control plane speaks.',
  },
} as const satisfies OptionTable;

export const certificatesOptions = {
  name: {
    type: 'string',
    default: 'orch',
    section: 'Secrets',
    meaning: 'What the names of the Secrets begin with: NAME-pki has everything, each program its own.',
  },
  namespace: {
    type: 'string',
    section: 'Secrets',
    meaning: 'Namespace of the Secrets. Default: that of the service account or client config.',
  },
  labels: { type: 'map', section: 'Secrets', meaning: 'Labels of new Secrets.' },
  kubeconfig: {
    type: 'string',
    section: 'Secrets',
    meaning: 'Client config of the cluster that keeps the Secrets. Default: the service account of the pod.',
  },
  'host-dialect': {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    default: 'kubernetes',
    section: 'Secrets',
    meaning: 'Names that the cluster speaks which keeps the Secrets.',
  },
  ...hostedDialect,
  server: {
    type: 'string',
    section: 'Control plane',
    meaning: 'URL of its API server, in the client configs.',
  },
  'server-names': { type: 'strings', section: 'Control plane', meaning: 'Names of its API server.' },
  'server-ips': { type: 'strings', section: 'Control plane', meaning: 'Addresses of its API server.' },
  'etcd-names': { type: 'strings', section: 'Control plane', meaning: 'Names of the members of its etcd.' },
  clients: {
    type: 'strings',
    oneOf: clientNames,
    section: 'Control plane',
    meaning: 'Further programs that get a Secret, NAME-ingress for example.',
  },
  'renew-before': {
    type: 'duration',
    default: 30 * 24 * 3600_000,
    section: 'Control plane',
    meaning: 'A certificate that ends sooner is made again.',
  },
} as const satisfies OptionTable;

export const publishOptions = {
  kubeconfig: {
    type: 'string',
    section: 'Control plane',
    meaning: 'Client config of an administrator of the hosted control plane.',
  },
  ...hostedDialect,
  ingress: {
    type: 'bool',
    section: 'Control plane',
    meaning: 'Make the class of the built-in ingress controller, and give that its rights; else take the class away.',
  },
  wait: {
    type: 'duration',
    default: 5 * 60_000,
    section: 'Control plane',
    meaning: 'Longest wait until the API server answers.',
  },
  server: { type: 'string', section: 'Nodes', meaning: 'URL at which nodes reach the API server.' },
  'pod-range': {
    type: 'string',
    default: '10.244.0.0/16',
    section: 'Nodes',
    meaning: 'Addresses of all pods: one range, or one of each family with a comma between.',
  },
  'service-range': { type: 'string', default: '10.96.0.0/16', section: 'Nodes', meaning: 'Addresses of Services.' },
  'cluster-domain': { type: 'string', default: 'cluster.local', section: 'Nodes', meaning: 'DNS domain of Services.' },
  'cluster-dns': {
    type: 'string',
    default: 'built-in',
    section: 'Nodes',
    meaning: 'Who answers questions of pods about names: built-in, none, or the address of a name server.',
  },
  'service-proxy': {
    type: 'string',
    oneOf: ['built-in', 'none'],
    default: 'built-in',
    section: 'Nodes',
    meaning: 'Who leads addresses of Services to their pods on nodes that join: they themselves, or another program.',
  },
} as const satisfies OptionTable;
