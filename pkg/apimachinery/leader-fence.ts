/**
 * Prevents a leader's writes from taking effect after its term: each write names its term, and the API server performs
 * it only if the lock still shows that term, in the same transaction. This holds for any clock skew, paused process or
 * delayed request: once another leader holds the lock, no write of the old term succeeds.
 *  The header makes a request stricter and grants no rights. A server that does not know it performs the write.
 */

/** The etcd key of an election lock, outside of the prefixes of objects. */
export function electionKey(namespace: string, name: string): string {
  return `/leader-election/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** Request header, in lower case. */
export const leaderFenceHeader = 'leader-fence';

/** A leader's term, as the lock shows it. */
export type LeaderFence =
  /** The lock is a Lease object; its spec holds the term. */
  | {
      readonly lock: 'leases';
      readonly namespace: string;
      readonly name: string;
      readonly holderIdentity: string;
      readonly leaseTransitions: number;
      /** RFC 3339 with microseconds, compared as text. */
      readonly acquireTime: string;
    }
  /** The lock is a key in etcd, bound to an etcd lease: `revision` is that of its only write. */
  | { readonly lock: 'etcdleases'; readonly namespace: string; readonly name: string; readonly revision: bigint };

/** The header's value: `lock=leases&namespace=…&name=…&…`, percent-encoded. */
export function formatLeaderFence(fence: LeaderFence): string {
  const fields = Object.entries(fence).map(([key, value]): [string, string] => [key, String(value)]);
  return new URLSearchParams(fields).toString();
}

const maxLength = 2048;

/** Parses the header's value. Throws a RangeError for a malformed one. */
export function parseLeaderFence(text: string): LeaderFence {
  if (text.length > maxLength) throw new RangeError('too long');
  const fields = new URLSearchParams(text);
  const field = (name: string): string => {
    const value = fields.get(name) ?? '';
    if (value === '') throw new RangeError(`${name} is missing`);
    return value;
  };
  const number = (name: string): string => {
    const value = field(name);
    if (!/^\d{1,19}$/.test(value)) throw new RangeError(`${name} is not a number`);
    return value;
  };
  const lock = field('lock');
  const where = { namespace: field('namespace'), name: field('name') };
  switch (lock) {
    case 'leases':
      return {
        lock,
        ...where,
        holderIdentity: field('holderIdentity'),
        leaseTransitions: Number(number('leaseTransitions')),
        acquireTime: field('acquireTime'),
      };
    case 'etcdleases':
      return { lock, ...where, revision: BigInt(number('revision')) };
    default:
      throw new RangeError(`unknown lock ${JSON.stringify(lock)}`);
  }
}

/** The part of a Lease's spec that identifies its term. */
export interface LeaseTerm {
  readonly holderIdentity?: string | undefined;
  readonly leaseTransitions?: number | undefined;
  readonly acquireTime?: string | undefined;
}

/** Whether the Lease still shows the fence's term; an absent Lease shows none. */
export function showsTerm(fence: LeaderFence & { readonly lock: 'leases' }, spec: LeaseTerm | undefined): boolean {
  return (
    spec?.holderIdentity === fence.holderIdentity &&
    (spec.leaseTransitions ?? 0) === fence.leaseTransitions &&
    spec.acquireTime === fence.acquireTime
  );
}

/** The reason of the refusal; follows `Operation cannot be fulfilled on …: `. */
export const termIsOver = 'the term of the leader that asks for this write is over';
