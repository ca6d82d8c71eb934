/** What a server does to become a member of the etcd of its cluster: a pure decision, one step at a time. */
import type { EtcdMember } from '#etcd-admin/admin.js';

export interface SeenMembership {
  readonly members: readonly EtcdMember[];
  readonly name: string;
  readonly peerURL: string;
}

export type MembershipStep =
  /** What had this name or address has lost what it knew, and can never come back with it. */
  { readonly type: 'remove'; readonly id: string } | { readonly type: 'add' };

/** For a machine that has nothing of etcd yet. */
export function membershipStep({ members, name, peerURL }: SeenMembership): MembershipStep {
  const own = members.find((member) => member.name === name || member.peerURLs.includes(peerURL));
  return own === undefined ? { type: 'add' } : { type: 'remove', id: own.id };
}

/** `name=url` of all members, as a new one is told; that one has no name until it has started. */
export function initialCluster(members: readonly EtcdMember[], { name, peerURL }: SeenMembership): string[] {
  return members.flatMap((member) =>
    member.peerURLs.map((url) => `${url === peerURL ? name : member.name || member.id}=${url}`),
  );
}

/**
 * Whether a server that leaves must be taken out before it stops: of two members neither can do so any more when the other
 * is gone.
 */
export function leavesBeforeItStops(members: readonly EtcdMember[]): boolean {
  return members.filter(({ isLearner }) => !isLearner).length <= 2;
}
