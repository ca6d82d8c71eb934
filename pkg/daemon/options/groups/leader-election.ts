/** Options of leader election. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

/** `etcdleases` is a key in etcd, for daemons that know etcd's address. */
export const resourceLocks = ['leases', 'endpointsleases', 'configmapsleases', 'etcdleases'] as const;

const section = 'Leader election';

/** The options with the daemon's own lock; take both names from the dialect. */
export function leaderElectionOptions(defaults: { readonly resourceName: string; readonly resourceNamespace: string }) {
  return {
    'leader-elect': {
      type: 'bool',
      default: true,
      section,
      meaning: 'Become leader before working, so that only one of several instances is active.',
    },
    'leader-elect-lease-duration': {
      type: 'duration',
      default: 15_000,
      section,
      meaning: 'How long other instances wait after the last observed renewal before they take the lock.',
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
      choices: resourceLocks,
      section,
      meaning: 'Kind of the lock object; etcdleases uses a key in the etcd of --etcd-servers instead.',
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
    'etcd-cafile': { type: 'string', section, meaning: 'CA bundle that verifies etcd.' },
    'etcd-certfile': { type: 'string', section, meaning: 'Client certificate for etcd.' },
    'etcd-keyfile': { type: 'string', section, meaning: 'Key of the client certificate for etcd.' },
  } as const satisfies OptionTable;
}

export type LeaderElectionValues = OptionValues<ReturnType<typeof leaderElectionOptions>>;

/** client-go adds this jitter to the retry period; the renew deadline must be longer than a jittered retry. */
const retryJitterFactor = 1.2;

/** Why the lock type is invalid, in 1.24's words. */
function lockError(kind: string): string | undefined {
  if (resourceLocks.some((each) => each === kind)) return undefined;
  if (kind === 'endpoints' || kind === 'configmaps') return `${kind} lock is removed, migrate to ${kind}leases`;
  return `Invalid lock-type ${kind}`;
}

/**
 * The first problem that 1.24 reports about these options; nothing when leader election is off. `failure`: the daemon's
 * prefix for an invalid lock.
 */
export function leaderElectionRules(failure: string): Rule<LeaderElectionValues> {
  return (values) => leaderElectionErrors(values, failure);
}

function leaderElectionErrors(values: LeaderElectionValues, failure: string): string[] {
  if (!values['leader-elect']) return [];
  const kind = values['leader-elect-resource-lock'];
  const lock = lockError(kind);
  if (lock !== undefined) return [`${failure}: ${lock}`];
  const leaseMs = values['leader-elect-lease-duration'];
  const renewMs = values['leader-elect-renew-deadline'];
  const retryMs = values['leader-elect-retry-period'];
  if (leaseMs <= renewMs) return ['leaseDuration must be greater than renewDeadline'];
  if (renewMs <= retryMs * retryJitterFactor) return ['renewDeadline must be greater than retryPeriod*JitterFactor'];
  if (leaseMs <= 0) return ['leaseDuration must be greater than zero'];
  if (renewMs <= 0) return ['renewDeadline must be greater than zero'];
  if (retryMs <= 0) return ['retryPeriod must be greater than zero'];
  if (kind === 'etcdleases' && values['etcd-servers'].length === 0) {
    return ['--leader-elect-resource-lock=etcdleases requires --etcd-servers'];
  }
  if (((values['etcd-certfile'] ?? '') === '') !== ((values['etcd-keyfile'] ?? '') === '')) {
    return ['--etcd-certfile and --etcd-keyfile must be given together'];
  }
  // 1.24 retries a lock without a name for ever.
  if (values['leader-elect-resource-name'] === '') return ['--leader-elect-resource-name is required'];
  return values['leader-elect-resource-namespace'] === '' ? ['--leader-elect-resource-namespace is required'] : [];
}
