/** The place of a server in the etcd of its cluster. */
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import type { ServerSettings } from '#cmd/orch/context/settings.js';
import { enterEtcd, hasEtcd, type MembershipOptions, settleInEtcd } from '#cmd/orch/members/become-member.js';
import { etcdEndpoint, serverPeerURL } from '#cmd/orch/process/etcd.js';
import { ownEtcdAccess } from '#cmd/orch/store/etcd-access.js';
import { EtcdAdmin } from '#etcd-admin/admin.js';

export interface Membership {
  /** Before etcd is started: with which members (`name=url`) that is; undefined for one that has been a member before. */
  enter(): Promise<readonly string[] | undefined>;
  /** Once it runs. Resolves when it has a vote, and the others know where it is. */
  settle(): Promise<void>;
}

/** Longest time of a start that waits for the other servers, ms: after all were off, a majority has to come back. */
const patienceMs = 600_000;

export function membership(context: ClusterContext, server: ServerSettings): Membership {
  const { clock, layout, log, settings } = context;
  const others = server.joined?.etcd ?? [];
  const act = async <T>(
    endpoints: readonly string[],
    action: (options: MembershipOptions) => Promise<T>,
  ): Promise<T> => {
    const admin = new EtcdAdmin(ownEtcdAccess(layout, endpoints));
    const signal = AbortSignal.timeout(patienceMs);
    try {
      return await action({ admin, name: server.name, peerURL: serverPeerURL(server), clock, log, signal });
    } finally {
      admin.close();
    }
  };
  return {
    enter: async () => (others.length === 0 || hasEtcd(layout.etcd) ? undefined : act(others, enterEtcd)),
    settle: () => act([etcdEndpoint(settings.etcdClientPort), ...others], settleInEtcd),
  };
}
