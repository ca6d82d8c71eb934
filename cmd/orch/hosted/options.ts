import type { OptionTable } from '#daemon/options/option.js';

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
  dialect: {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    default: 'orch',
    section: 'Control plane',
    meaning: 'Names that the hosted control plane speaks.',
  },
  server: {
    type: 'string',
    section: 'Control plane',
    meaning: 'URL of its API server, in the client configs.',
  },
  'server-names': { type: 'strings', section: 'Control plane', meaning: 'Names of its API server.' },
  'server-ips': { type: 'strings', section: 'Control plane', meaning: 'Addresses of its API server.' },
  'etcd-names': { type: 'strings', section: 'Control plane', meaning: 'Names of the members of its etcd.' },
  'renew-before': {
    type: 'duration',
    default: 30 * 24 * 3600_000,
    section: 'Control plane',
    meaning: 'A certificate that ends sooner is made again.',
  },
} as const satisfies OptionTable;
