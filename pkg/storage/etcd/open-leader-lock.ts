/** The leader election's lock in etcd, from a daemon's options. */

import type { Clock } from '#apimachinery/clock.js';
import type { LeaderElectionValues } from '#daemon/options/groups/leader-election.js';
import { readEtcdFiles } from '#storage/etcd/etcd-files.js';
import { EtcdLeaderLock } from '#storage/etcd/leader-lock.js';

export interface OpenLeaderLockOptions {
  readonly values: LeaderElectionValues;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Nothing is sent yet. Throws OptionsError for files that cannot be read. */
export async function openLeaderLock({ values, ...where }: OpenLeaderLockOptions): Promise<EtcdLeaderLock> {
  const tls = await readEtcdFiles(values);
  return new EtcdLeaderLock({
    endpoints: values['etcd-servers'],
    ...where,
    ...(tls === undefined ? {} : { tls: () => tls.readOrLast() }),
  });
}
