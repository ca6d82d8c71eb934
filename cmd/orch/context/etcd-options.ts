import type { OptionTable } from '#daemon/options/option.js';

/** How an etcd is reached that `orch up` has not started. */
export const etcdOptions = {
  'etcd-servers': {
    type: 'strings',
    section: 'Store',
    meaning: 'Addresses of an etcd that runs already, instead of the cluster’s own one.',
  },
  'etcd-cafile': { type: 'string', section: 'Store', meaning: 'CA of that etcd.' },
  'etcd-certfile': { type: 'string', section: 'Store', meaning: 'Client certificate towards that etcd.' },
  'etcd-keyfile': { type: 'string', section: 'Store', meaning: 'Key of that certificate.' },
} as const satisfies OptionTable;
