/** Makes a server a member of the etcd of its cluster, however often it was interrupted on the way. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { initialCluster, membershipStep, type SeenMembership } from '#cmd/orch/members/plan.js';
import type { Logger } from '#daemon/log/logger.js';
import type { EtcdAdmin } from '#etcd-admin/admin.js';

export interface MembershipOptions {
  readonly admin: Pick<EtcdAdmin, 'members' | 'addLearner' | 'removeMember' | 'promote' | 'moveMember'>;
  readonly name: string;
  readonly peerURL: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const retryMs = 250;
/**
 * Longest time until etcd takes a member, ms: it wants the others to have been connected for five seconds, and one
 * learner at a time.
 */
const patienceMs = 120_000;

/** Whether etcd has been there. */
export function hasEtcd(dataDir: string): boolean {
  return existsSync(join(dataDir, 'member'));
}

/** Resolves with all members, `name=url`, when etcd can be started as one more of them. */
export async function enterEtcd(options: MembershipOptions): Promise<string[]> {
  const { admin, name, peerURL } = options;
  return insist(options, 'enter', async () => {
    for (;;) {
      const seen: SeenMembership = { members: await admin.members(), name, peerURL };
      const step = membershipStep(seen);
      if (step.type === 'remove') {
        await admin.removeMember(step.id);
        continue;
      }
      await admin.addLearner(peerURL);
      return initialCluster(await admin.members(), seen);
    }
  });
}

/** Resolves when the member that runs here has a vote, and the others know where it is. */
export async function settleInEtcd(options: MembershipOptions): Promise<void> {
  const { admin, name, peerURL } = options;
  await insist(options, 'get a vote', async () => {
    const members = await admin.members();
    const own = members.find((member) => member.peerURLs.includes(peerURL)) ?? members.find((m) => m.name === name);
    if (own === undefined) throw new Error(`no member is called ${name}`);
    if (own.isLearner) await admin.promote(own.id);
    if (!own.peerURLs.includes(peerURL)) await admin.moveMember(own.id, peerURL);
  });
}

async function insist<T>(
  { clock, log, signal }: MembershipOptions,
  what: string,
  attempt: () => Promise<T>,
): Promise<T> {
  const started = clock.monotonic();
  for (let said = ''; ; ) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const why = messageOf(error);
      if (why !== said) log.info({ problem: why }, `cannot ${what} in etcd yet`);
      said = why;
      if (clock.monotonic() - started > patienceMs)
        throw new Error(`this server does not ${what} in etcd: ${why}`, { cause: error });
      await clock.sleep(retryMs, signal);
    }
  }
}
