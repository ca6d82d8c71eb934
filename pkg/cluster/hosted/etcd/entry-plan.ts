/**
 * How a pod of a control plane's own etcd enters the cluster of members: before etcd starts, one step after another. Members
 * enter in the order of their numbers, each when all before it have a vote. Pure.
 */
import type { EtcdMember } from '#etcd-admin/admin.js';

export interface ObservedEtcd {
  /** Number of the pod. */
  readonly ordinal: number;
  /** Peer URLs of all pods, by number. */
  readonly peerURLs: readonly string[];
  /** Whether the pod's volume has data of etcd. */
  readonly hasData: boolean;
  /** The members, by one that answers; undefined: none answers. */
  readonly members: readonly EtcdMember[] | undefined;
  /** Ids of the members that answer. */
  readonly answering: ReadonlySet<string>;
  /** Other pods that wait without data. */
  readonly emptyPods: number;
}

export type EntryStep =
  /** etcd finds its cluster in its data. */
  | { readonly type: 'start' }
  /** The first pod of a new control plane begins a cluster of one member. */
  | { readonly type: 'begin' }
  /** The pod is registered, and starts as one of these members. */
  | { readonly type: 'join'; readonly members: readonly EtcdMember[] }
  | { readonly type: 'add'; readonly isLearner: boolean }
  | { readonly type: 'promote'; readonly id: string }
  /** The former member has lost its data and cannot return. */
  | { readonly type: 'remove'; readonly id: string }
  /** The data is that of a removed member. */
  | { readonly type: 'discard' }
  | { readonly type: 'wait'; readonly why: string };

export function entryStep(observed: ObservedEtcd): EntryStep {
  const { hasData, members, ordinal, peerURLs } = observed;
  if (members === undefined) return withoutAnswer(observed);
  const own = memberAt(members, peerURLs[ordinal]);
  if (hasData) return own === undefined ? { type: 'discard' } : { type: 'start' };
  // Registered by this pod before, and not started.
  if (own !== undefined && own.name === '') return { type: 'join', members };
  const others = members.filter((member) => member !== own);
  const silent = others.find(({ id }) => !observed.answering.has(id));
  if (silent !== undefined) return wait(`member ${silent.name || silent.peerURLs.join(',')} does not answer`);
  if (own !== undefined) return { type: 'remove', id: own.id };
  for (const [number, peerURL] of peerURLs.slice(0, ordinal).entries()) {
    const before = memberAt(members, peerURL);
    if (before === undefined || before.name === '') return wait(`pod ${number} is no member yet`);
  }
  const learner = members.find(({ isLearner }) => isLearner);
  if (learner !== undefined) return { type: 'promote', id: learner.id };
  // A second vote would stop a single member until the new one has started; with two or more, their majority goes on.
  return { type: 'add', isLearner: members.length === 1 };
}

/**
 * A cluster begins only when no pod has data: otherwise a member that is down has it, and a new cluster, which is empty, would
 * be taken for the old one.
 */
function withoutAnswer({ emptyPods, hasData, ordinal, peerURLs }: ObservedEtcd): EntryStep {
  if (hasData) return { type: 'start' };
  if (ordinal > 0) return wait('no member answers');
  const others = peerURLs.length - 1;
  if (emptyPods === others) return { type: 'begin' };
  return wait(`no member answers, and only ${emptyPods} of ${others} other pods have said that they have no data`);
}

function memberAt(members: readonly EtcdMember[], peerURL: string | undefined): EtcdMember | undefined {
  return peerURL === undefined ? undefined : members.find(({ peerURLs }) => peerURLs.includes(peerURL));
}

function wait(why: string): EntryStep {
  return { type: 'wait', why };
}

export interface ObservedShrink {
  /** Peer URLs of the pods that stay. */
  readonly staying: readonly string[];
  readonly members: readonly EtcdMember[];
  readonly answering: ReadonlySet<string>;
}

/**
 * The member to remove next before its pod stops, that of the highest number first; undefined: all are gone. A text says why
 * none may go: the members that stay must have a majority at every moment.
 */
export function nextToLeave({ answering, members, staying }: ObservedShrink): EtcdMember | string | undefined {
  const stays = (member: EtcdMember) => member.peerURLs.some((url) => staying.includes(url));
  const leaving = members.filter((member) => !stays(member)).toSorted((a, b) => byNumber(b) - byNumber(a));
  const [next] = leaving;
  if (next === undefined) return undefined;
  const remaining = members.filter(stays);
  if (remaining.length === 0) return 'none of the members would stay';
  const unfit = remaining.find((member) => member.name === '' || member.isLearner || !answering.has(member.id));
  if (unfit !== undefined)
    return `member ${unfit.name || unfit.peerURLs.join(',')} is to stay, but has no vote or does not answer`;
  return next;
}

function byNumber({ peerURLs }: EtcdMember): number {
  return Number(/-(\d+)\./.exec(peerURLs[0] ?? '')?.[1] ?? 0);
}
