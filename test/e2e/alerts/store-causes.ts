/** Faults of etcd. */
import { kill } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { again, type Cause } from '#test/e2e/alerts/cause.js';
import type { Etcd } from '#test/e2e/alerts/stores.js';

interface Status {
  readonly header: { readonly member_id: string };
  readonly leader: string;
}

/** The leader hands over repeatedly. */
export function leadersChange(members: readonly Etcd[]): Cause {
  return {
    alerts: ['etcdHighNumberOfLeaderChanges'],
    async begin() {
      for (let changes = 0; changes < 6; changes++) {
        const statuses = await Promise.all(
          members.map(async (member) => ({ member, status: await member.call<Status>('maintenance/status', {}) })),
        );
        const leading = statuses.findIndex(({ status }) => status.leader === status.header.member_id);
        const next = statuses[(leading + 1) % statuses.length];
        await statuses[leading]?.member
          .call('maintenance/transfer-leadership', { targetID: next?.status.header.member_id })
          // The next round does not need to know the new leader.
          .catch(() => undefined);
        await realClock.sleep(700);
      }
      return async () => undefined;
    },
  };
}

/** Each write to the disk of one member takes most of a second. `skip`: why nothing can be traced. */
export function diskIsSlow(members: readonly Etcd[], skip: string | undefined): Cause {
  return {
    alerts: ['etcdHighFsyncDurations', 'etcdHighCommitDurations'],
    skip,
    async begin() {
      const [member] = members;
      const quick = await member?.slowDisk(600);
      let count = 0;
      const writes = again(15, async () => member?.put('k', String(count++)));
      return async () => {
        await writes();
        await quick?.();
      };
    },
  };
}

/** Two of three members are stopped, and clients keep writing. */
export function majorityIsLost(members: readonly Etcd[]): Cause {
  return {
    alerts: ['etcdMembersDown', 'etcdInsufficientMembers', 'etcdNoLeader', 'etcdHighNumberOfFailedProposals'],
    async begin() {
      const [left, ...lost] = members;
      for (const { pid } of lost) kill(pid, 'SIGSTOP');
      const writes = again(100, async () => {
        // Writes time out, so they run in parallel.
        left?.put('k', 'v').catch(() => undefined);
      });
      return async () => {
        await writes();
        for (const { pid } of lost) kill(pid, 'SIGCONT');
      };
    },
  };
}

/** Writes until the store is almost full. */
export function storeFills(store: Etcd, quotaBytes: number): Cause {
  return {
    alerts: ['etcdDatabaseQuotaLowSpace', 'etcdExcessiveDatabaseGrowth'],
    async begin() {
      const value = 'x'.repeat(quotaBytes / 128);
      for (let i = 0; ; i++) {
        const { dbSize } = await store.call<{ dbSize: string }>('maintenance/status', {});
        if (Number(dbSize) > 0.96 * quotaBytes) break;
        await store.put(`k${i}`, value);
        // etcd updates its size at each commit, ten times a second.
        if (Number(dbSize) > 0.7 * quotaBytes) await realClock.sleep(150);
      }
      return async () => {
        const deleted = await store.call<{ header: { revision: string } }>('kv/deleterange', {
          key: btoa('k'),
          range_end: btoa('l'),
        });
        await store.call('kv/compaction', { revision: deleted.header.revision, physical: true });
        await store.call('maintenance/defragment', {});
      };
    },
  };
}
