import type { OptionTable } from '#daemon/options/option.js';

/** The pods of a control plane's own etcd. */
export const setOptions = {
  set: { type: 'string', section: 'Pods', meaning: 'Name of their StatefulSet.' },
  service: {
    type: 'string',
    section: 'Pods',
    meaning: 'DNS name of the Service that names them: orch-etcd.default.svc.',
  },
  replicas: { type: 'int', default: 1, min: 1, section: 'Pods', meaning: 'Number of members.' },
  'client-port': { type: 'int', default: 2379, min: 1, section: 'Pods', meaning: 'Port for clients.' },
  'peer-port': { type: 'int', default: 2380, min: 1, section: 'Pods', meaning: 'Port for members.' },
} as const satisfies OptionTable;

export const podOptions = {
  member: { type: 'string', section: 'Pods', meaning: 'Name of this pod: SET-NUMBER.' },
  'data-dir': {
    type: 'string',
    default: '/data/etcd',
    section: 'Pods',
    meaning: 'Directory of etcd’s data; directories beside it keep data that is set aside.',
  },
} as const satisfies OptionTable;

export const certificateOptions = {
  'etcd-cafile': { type: 'string', section: 'Certificates', meaning: 'CA of etcd.' },
  'etcd-certfile': { type: 'string', section: 'Certificates', meaning: 'Client certificate for etcd.' },
  'etcd-keyfile': { type: 'string', section: 'Certificates', meaning: 'Key of that certificate.' },
} as const satisfies OptionTable;

export const hostOptions = {
  kubeconfig: {
    type: 'string',
    section: 'Host',
    meaning: 'Client config of the host cluster. Default: the service account of the pod.',
  },
  'host-dialect': {
    type: 'string',
    oneOf: ['orch', 'kubernetes'],
    default: 'kubernetes',
    section: 'Host',
    meaning: 'Names in the API of the host cluster.',
  },
  namespace: {
    type: 'string',
    section: 'Host',
    meaning: 'Namespace of the control plane. Default: that of the service account or client config.',
  },
} as const satisfies OptionTable;

export const enterOptions = {
  ...setOptions,
  ...podOptions,
  ...certificateOptions,
  'replicas-file': {
    type: 'string',
    section: 'Pods',
    meaning: 'File with the number of members, in place of --replicas; it may change between two starts.',
  },
  'config-template': {
    type: 'string',
    section: 'Pods',
    meaning: 'Configuration file of etcd without the fields that differ among members.',
  },
  config: { type: 'string', section: 'Pods', meaning: 'File for the whole configuration.' },
} as const satisfies OptionTable;

export const shrinkOptions = { ...setOptions, ...certificateOptions, ...hostOptions } as const satisfies OptionTable;
