import type { OptionTable } from '#daemon/options/option.js';
import { defaultRenewBeforeMs } from '#pki/ensure.js';

/** Optional programs of a control plane. */
export const clientNames = ['ingress', 'service-proxy', 'node-agent'] as const;

const hostedDialect = {
  dialect: {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    default: 'orch',
    section: 'Control plane',
    meaning: 'Names in the API of the hosted control plane.',
  },
} as const satisfies OptionTable;

export const certificatesOptions = {
  name: {
    type: 'string',
    default: 'orch',
    section: 'Secrets',
    meaning: 'Prefix of the Secrets: NAME-pki has everything, and each program its own.',
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
    meaning: 'Client config of the host cluster, which has the Secrets. Default: the service account of the pod.',
  },
  'host-dialect': {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    default: 'kubernetes',
    section: 'Secrets',
    meaning: 'Names in the API of the host cluster.',
  },
  ...hostedDialect,
  server: {
    type: 'string',
    section: 'Control plane',
    meaning: 'URL of its API server for the client configs.',
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
    default: defaultRenewBeforeMs,
    section: 'Control plane',
    meaning: 'Time before its end at which a certificate is replaced.',
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
    meaning: 'Create the class and the rights of the built-in ingress controller; otherwise delete the class.',
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
    meaning: 'Addresses of all pods: one range, or one of each family, comma separated.',
  },
  'service-range': { type: 'string', default: '10.96.0.0/16', section: 'Nodes', meaning: 'Addresses of Services.' },
  'cluster-domain': { type: 'string', default: 'cluster.local', section: 'Nodes', meaning: 'DNS domain of Services.' },
  'cluster-dns': {
    type: 'string',
    default: 'built-in',
    section: 'Nodes',
    meaning: 'Name server of the pods: built-in, none, or the address of a name server.',
  },
  'service-proxy': {
    type: 'string',
    oneOf: ['built-in', 'none'],
    default: 'built-in',
    section: 'Nodes',
    meaning: 'Forwarding of Service addresses on joining nodes: built-in, or none where another program does it.',
  },
} as const satisfies OptionTable;
