/** Options that choose the controllers and how much they do at once. */
import type { Dialect } from '#apimachinery/dialect.js';
import { controllerNames } from '#controllers/options/names.js';
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Controllers';

export const selectionOptions = {
  controllers: {
    type: 'strings',
    default: ['*'],
    section,
    meaning: `Controllers to run: * for all that are on by default, name to add one, -name to leave one out. Known: ${Object.keys(controllerNames).join(', ')}. Off by default: bootstrapsigner, tokencleaner.`,
  },
  'controller-start-interval': {
    type: 'duration',
    min: 0,
    section,
    meaning: 'Pause between starting one controller and the next.',
  },
  'min-resync-period': {
    type: 'duration',
    min: 0,
    default: 43_200_000,
    section,
    meaning: 'Controllers see all objects again after this long to twice as long; 0: never.',
  },
  'enable-leader-migration': {
    type: 'bool',
    section: 'Leader election',
    meaning: 'Move controllers between managers without a moment in which both or neither run them.',
  },
  'leader-migration-config': {
    type: 'string',
    section: 'Leader election',
    meaning: 'File that says which manager runs which controller; empty uses the default configuration.',
  },
} as const satisfies OptionTable;

/** Options whose defaults are the dialect's. */
export function clusterNameOptions(dialect: Dialect) {
  return {
    'cluster-name': {
      type: 'string',
      default: dialect.product,
      section,
      meaning: "Prefix of the cluster's instances.",
    },
  } as const satisfies OptionTable;
}

const concurrency = 'Concurrency';

function syncs<const D extends number>(defaultValue: D, what: string) {
  return { type: 'int', default: defaultValue, section: concurrency, meaning: `${what} worked on at once.` } as const;
}

export const concurrencyOptions = {
  'concurrent-deployment-syncs': syncs(5, 'Deployments'),
  'concurrent-endpoint-syncs': syncs(5, 'Services whose endpoints are'),
  'concurrent-ephemeralvolume-syncs': syncs(5, 'Ephemeral volumes'),
  'concurrent-gc-syncs': syncs(20, 'Objects to be collected'),
  'concurrent-namespace-syncs': syncs(10, 'Namespaces'),
  'concurrent-rc-syncs': syncs(5, 'Replication controllers'),
  'concurrent-replicaset-syncs': syncs(5, 'Replica sets'),
  'concurrent-resource-quota-syncs': syncs(5, 'Resource quotas'),
  'concurrent-service-endpoint-syncs': syncs(5, 'Services whose endpoint slices are'),
  'concurrent-service-syncs': syncs(1, 'Services'),
  'concurrent-serviceaccount-token-syncs': syncs(5, 'Service account tokens'),
  'concurrent-statefulset-syncs': syncs(5, 'Stateful sets'),
  'concurrent-ttl-after-finished-syncs': syncs(5, 'Finished jobs'),
  'mirroring-concurrent-service-endpoint-syncs': syncs(5, 'Endpoints to be mirrored'),
} as const satisfies OptionTable;
