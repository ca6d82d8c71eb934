/** The leader election's lock in etcd, from a daemon's options. */

import { readFile } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { LeaderElectionValues } from '#daemon/options/groups/leader-election.js';
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
  const [ca, cert, key] = await Promise.all([
    bytesOf(values, 'etcd-cafile'),
    bytesOf(values, 'etcd-certfile'),
    bytesOf(values, 'etcd-keyfile'),
  ]);
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return new EtcdLeaderLock({
    endpoints: values['etcd-servers'],
    ...where,
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  });
}

async function bytesOf(
  values: LeaderElectionValues,
  option: 'etcd-cafile' | 'etcd-certfile' | 'etcd-keyfile',
): Promise<Buffer | undefined> {
  const path = values[option] ?? '';
  if (path === '') return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}
