/** Joining and leaving the etcd of a cluster with several servers. Joining may be interrupted and repeated at any step. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { ClusterContext } from '#cluster/config/cluster-context.js';
import { etcdEndpoint, serverEtcdEndpoint, serverPeerURL } from '#cluster/config/etcd-member.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ServerSettings } from '#cluster/config/settings.js';
import { ownEtcdAccess } from '#cluster/etcd/access.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import type { Logger } from '#daemon/log/logger.js';
import { EtcdAdmin, type EtcdMember } from '#etcd-admin/admin.js';

export interface ObservedMembership {
  readonly members: readonly EtcdMember[];
  readonly name: string;
  readonly peerURL: string;
}

export type MembershipStep =
  /** A former member with this name or address has lost its data and cannot return. */
  { readonly type: 'remove'; readonly id: string } | { readonly type: 'add' };

/** The next step of a machine without etcd data. Pure. */
export function membershipStep({ members, name, peerURL }: ObservedMembership): MembershipStep {
  const own = members.find((member) => member.name === name || member.peerURLs.includes(peerURL));
  return own === undefined ? { type: 'add' } : { type: 'remove', id: own.id };
}

/** `name=url` of all members, for a new one, which has no name before it starts. Pure. */
export function initialCluster(members: readonly EtcdMember[], { name, peerURL }: ObservedMembership): string[] {
  return members.flatMap((member) =>
    member.peerURLs.map((url) => `${url === peerURL ? name : member.name || member.id}=${url}`),
  );
}

/** Whether a leaving server must be removed while it runs: one of two members has no majority without the other. Pure. */
export function leavesBeforeItStops(members: readonly EtcdMember[]): boolean {
  return members.filter(({ isLearner }) => !isLearner).length <= 2;
}

interface MembershipOptions {
  readonly admin: EtcdAdmin;
  readonly name: string;
  readonly peerURL: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const retryMs = 250;
/**
 * Longest time until etcd accepts a change, ms: it requires that the other members have been connected for five seconds,
 * and takes one learner at a time.
 */
const changeTimeoutMs = 120_000;
/** Longest wait for the other servers at a start, ms: after a shutdown of all, a majority has to return. */
const serversTimeoutMs = 600_000;

export interface Membership {
  /** Adds the member before etcd starts. Resolves with all members, `name=url`; with undefined for an existing member. */
  enter(): Promise<readonly string[] | undefined>;
  /** Resolves when the running member has a vote, and the others know its address. */
  settle(): Promise<void>;
}

export function membership(context: ClusterContext, server: ServerSettings): Membership {
  const { clock, layout, log, settings } = context;
  const others = server.joined?.etcd ?? [];
  const act = async <T>(
    endpoints: readonly string[],
    action: (options: MembershipOptions) => Promise<T>,
  ): Promise<T> => {
    const admin = new EtcdAdmin(ownEtcdAccess(layout, endpoints));
    const signal = AbortSignal.timeout(serversTimeoutMs);
    try {
      return await action({ admin, name: server.name, peerURL: serverPeerURL(server), clock, log, signal });
    } finally {
      admin.close();
    }
  };
  const hasData = () => existsSync(join(layout.etcd, 'member'));
  return {
    enter: async () => (others.length === 0 || hasData() ? undefined : act(others, addMember)),
    settle: () => act([etcdEndpoint(settings.etcdClientPort), ...others], settleMember),
  };
}

async function addMember(options: MembershipOptions): Promise<string[]> {
  const { admin, name, peerURL } = options;
  return retry(options, 'become a member of etcd', async () => {
    for (;;) {
      const observed: ObservedMembership = { members: await admin.members(), name, peerURL };
      const step = membershipStep(observed);
      if (step.type === 'remove') {
        await admin.removeMember(step.id);
        continue;
      }
      await admin.addLearner(peerURL);
      return initialCluster(await admin.members(), observed);
    }
  });
}

async function settleMember(options: MembershipOptions): Promise<void> {
  const { admin, name, peerURL } = options;
  await retry(options, 'get a vote in etcd', async () => {
    const members = await admin.members();
    const own = members.find((member) => member.peerURLs.includes(peerURL)) ?? members.find((m) => m.name === name);
    if (own === undefined) throw new Error(`etcd has no member ${name}`);
    if (own.isLearner) await admin.promote(own.id);
    if (!own.peerURLs.includes(peerURL)) await admin.moveMember(own.id, peerURL);
  });
}

async function retry<T>(
  { clock, log, signal }: MembershipOptions,
  change: string,
  attempt: () => Promise<T>,
): Promise<T> {
  const started = clock.monotonic();
  for (let last = ''; ; ) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const problem = messageOf(error);
      if (problem !== last) log.info({ change, problem }, 'etcd does not accept a change of membership yet');
      last = problem;
      if (clock.monotonic() - started > changeTimeoutMs)
        throw new Error(`this server cannot ${change}: ${problem}`, { cause: error });
      await clock.sleep(retryMs, signal);
    }
  }
}

export interface Departure {
  /** Whether the member must leave before it stops. */
  readonly isDueFirst: boolean;
  /** Removes the member. Rejects with etcd's error. */
  leave(): Promise<void>;
  close(): void;
}

/** Prepares to leave, and moves the leadership to another member. Rejects with a SetupError for the only member. */
export async function departure(layout: Layout, server: ServerSettings): Promise<Departure> {
  const own = serverEtcdEndpoint(server);
  const ownAdmin = new EtcdAdmin(ownEtcdAccess(layout, [own]));
  try {
    const members = await ownAdmin.members();
    const self = members.find(({ peerURLs }) => peerURLs.includes(serverPeerURL(server)));
    const others = members.filter((member) => member !== self && !member.isLearner);
    const [successor] = others;
    if (successor === undefined || self === undefined)
      throw new SetupError('this is the only server of its cluster; stop the cluster with: orch down');
    if ((await ownAdmin.status(own)).leader === self.id) await ownAdmin.moveLeader(own, successor.id);
    const endpoints = others.flatMap(({ clientURLs }) => clientURLs);
    const admin = new EtcdAdmin(ownEtcdAccess(layout, endpoints));
    return {
      isDueFirst: leavesBeforeItStops(members),
      leave: () => admin.removeMember(self.id),
      close: () => admin.close(),
    };
  } finally {
    ownAdmin.close();
  }
}
