/**
 * What answers etcd's API: etcd, or kine, which keeps the objects in a database and knows only the calls of kube-apiserver.
 * Requests have the forms that both know where these cost nothing. kine's peculiarities: its package `server`, 0.14.
 */
import type { WireReader } from '#storage/etcd/answers.js';
import type { Revision } from '#storage/store.js';

export interface ServerKind {
  readonly name: 'etcd' | 'kine';
  /** A transaction may hold several keys. */
  readonly joinsKeys: boolean;
  /** Notifications of progress come after the events up to their revision. */
  readonly ordersProgress: boolean;
  /** Leases can be kept alive and revoked; otherwise they are only a time to live. */
  readonly keepsLeases: boolean;
  /** A key below the root whose read tells the newest revision. */
  readonly revisionKey: string;
  /** Start of a watch whose first event of interest has the revision. */
  watchFrom(next: Revision): Revision;
}

const etcd: ServerKind = {
  name: 'etcd',
  joinsKeys: true,
  ordersProgress: true,
  keepsLeases: true,
  revisionKey: '',
  // One revision early: etcd before 3.5.18 omits a deletion at the exact revision of a compaction, and a watch that starts
  // there would miss it without an error.
  watchFrom: (next) => (next > 1n ? next - 1n : 1n),
};

const kine: ServerKind = {
  name: 'kine',
  joinsKeys: false,
  ordersProgress: false,
  keepsLeases: false,
  // kine creates it at its start. For an absent key it tells the last revision of its own process.
  revisionKey: '/health',
  // It refuses compacted starts, but not 1, which is the revision of a key of its own.
  watchFrom: (next) => (next > 2n ? next : 2n),
};

/** By the header of any response: kine is no cluster, so that it has no id of one. */
export function readServerKind(reader: WireReader): ServerKind {
  while (reader.next()) if (reader.field === 1) return hasClusterId(reader.message()) ? etcd : kine;
  return kine;
}

function hasClusterId(header: WireReader): boolean {
  while (header.next()) if (header.field === 1) return header.int64() !== 0n;
  return false;
}

/** What an operator should know. */
export const kineWarning =
  'the store is kine, whose transactions hold one key: quotas, and the terms of leaders, are checked before a write and not with it, as in 1.24; it cannot be backed up, defragmented or hold locks of kind etcdleases';
