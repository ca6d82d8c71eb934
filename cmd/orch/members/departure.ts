/** How a server leaves the etcd of its cluster. */
import type { Layout } from '#cmd/orch/context/layout.js';
import type { ServerSettings } from '#cmd/orch/context/settings.js';
import { leavesBeforeItStops } from '#cmd/orch/members/plan.js';
import { serverEtcdEndpoint, serverPeerURL } from '#cmd/orch/process/etcd.js';
import { ownEtcdAccess } from '#cmd/orch/store/etcd-access.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { EtcdAdmin } from '#etcd-admin/admin.js';

export interface Departure {
  /** Whether it is to leave before it is stopped. */
  readonly isDueFirst: boolean;
  /** Removes its member. Rejects with what etcd answers. */
  leave(): Promise<void>;
  close(): void;
}

/** Hands the lead over to another member, if this one has it. Throws a SetupError for the only member. */
export async function departure(layout: Layout, server: ServerSettings): Promise<Departure> {
  const own = serverEtcdEndpoint(server);
  const here = new EtcdAdmin(ownEtcdAccess(layout, [own]));
  try {
    const members = await here.members();
    const self = members.find(({ peerURLs }) => peerURLs.includes(serverPeerURL(server)));
    const others = members.filter((member) => member !== self && !member.isLearner);
    const [heir] = others;
    if (heir === undefined || self === undefined)
      throw new SetupError('this is the only server of its cluster, which is stopped by: orch down');
    if ((await here.status(own)).leader === self.id) await here.moveLeader(own, heir.id);
    const there = new EtcdAdmin(
      ownEtcdAccess(
        layout,
        others.flatMap(({ clientURLs }) => clientURLs),
      ),
    );
    return {
      isDueFirst: leavesBeforeItStops(members),
      leave: () => there.removeMember(self.id),
      close: () => there.close(),
    };
  } finally {
    here.close();
  }
}
