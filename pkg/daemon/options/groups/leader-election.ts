/** Options of leader election. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

/** The last one is a key in etcd, for daemons that are told where etcd is. */
export const resourceLocks = ['leases', 'endpointsleases', 'configmapsleases', 'etcdleases'] as const;

const section = 'Leader election';

/** The options with the daemon's own lock; take both names from the dialect. */
export function leaderElectionOptions(defaults: { readonly resourceName: string; readonly resourceNamespace: string }) {
  return {
    'leader-elect': {
      type: 'bool',
      default: true,
      section,
      meaning: 'Gain leadership before the main loop, so that of several instances one works.',
    },
    'leader-elect-lease-duration': {
      type: 'duration',
      default: 15_000,
      section,
      meaning: 'How long the others wait after a renewal they have seen before they take the lock.',
    },
    'leader-elect-renew-deadline': {
      type: 'duration',
      default: 10_000,
      section,
      meaning: 'How long the leader tries to renew before it stops leading; less than the lease duration.',
    },
    'leader-elect-retry-period': {
      type: 'duration',
      default: 2000,
      section,
      meaning: 'Wait between attempts to acquire and to renew.',
    },
    'leader-elect-resource-lock': {
      type: 'string',
      default: 'leases',
      oneOf: resourceLocks,
      section,
      meaning: 'Kind of the lock object; etcdleases: no object, but a key in the etcd of --etcd-servers.',
    },
    'leader-elect-resource-name': {
      type: 'string',
      default: defaults.resourceName,
      section,
      meaning: 'Name of the lock object.',
    },
    'leader-elect-resource-namespace': {
      type: 'string',
      default: defaults.resourceNamespace,
      section,
      meaning: 'Namespace of the lock object.',
    },
    'etcd-servers': {
      type: 'strings',
      section,
      meaning:
        'Addresses of the API server’s etcd, scheme://host:port, comma separated; for a lock of kind etcdleases.',
    },
    'etcd-cafile': { type: 'string', section, meaning: 'Authorities that vouch for etcd.' },
    'etcd-certfile': { type: 'string', section, meaning: 'Client certificate towards etcd.' },
    'etcd-keyfile': { type: 'string', section, meaning: 'Key of the client certificate towards etcd.' },
  } as const satisfies OptionTable;
}

export type LeaderElectionValues = OptionValues<ReturnType<typeof leaderElectionOptions>>;

/** Jitter that client-go adds to the retry period; the renew deadline must be longer than a jittered retry. */
const retryJitterFactor = 1.2;

/** What 1.24 refuses about these options; nothing when leader election is off. */
export const leaderElectionRules: Rule<LeaderElectionValues> = (values) => {
  if (!values['leader-elect']) return [];
  const messages: string[] = [];
  const leaseMs = values['leader-elect-lease-duration'];
  const renewMs = values['leader-elect-renew-deadline'];
  const retryMs = values['leader-elect-retry-period'];
  for (const name of ['lease-duration', 'renew-deadline', 'retry-period'] as const) {
    if (values[`leader-elect-${name}`] <= 0) messages.push(`--leader-elect-${name} must be greater than zero`);
  }
  if (leaseMs <= renewMs) {
    messages.push('--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline');
  }
  if (renewMs <= retryMs * retryJitterFactor) {
    messages.push(
      `--leader-elect-renew-deadline must be greater than --leader-elect-retry-period times ${retryJitterFactor}`,
    );
  }
  if (values['leader-elect-resource-lock'] === 'etcdleases' && values['etcd-servers'].length === 0) {
    messages.push('--leader-elect-resource-lock=etcdleases requires --etcd-servers');
  }
  if (((values['etcd-certfile'] ?? '') === '') !== ((values['etcd-keyfile'] ?? '') === '')) {
    messages.push('--etcd-certfile and --etcd-keyfile must be given together');
  }
  if (values['leader-elect-resource-name'] === '') messages.push('--leader-elect-resource-name is required');
  if (values['leader-elect-resource-namespace'] === '') messages.push('--leader-elect-resource-namespace is required');
  return messages;
};
