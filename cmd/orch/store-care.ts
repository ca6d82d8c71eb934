/** What a cluster does for its store while it runs: room is given back, and backups are made as they are planned. */
import { saveFrom } from '#cmd/orch/backup/save.js';
import { ScheduledBackups } from '#cmd/orch/backup/scheduled.js';
import { backgroundWork } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import type { ForeignEtcd } from '#cmd/orch/context/start-options.js';
import { etcdQuotaBytes } from '#cmd/orch/process/etcd.js';
import { etcdAccess, openLastingStore } from '#cmd/orch/store/etcd-access.js';
import { EtcdUpkeep } from '#etcd-admin/upkeep.js';

export function startStoreCare(context: ClusterContext, etcd: ForeignEtcd): void {
  const { start, settings, layout, clock, log, running } = context;
  // Certificates may have been renewed since the last time.
  const access = () => etcdAccess(etcd);
  const backups = new ScheduledBackups({
    layout,
    clock,
    log,
    save: (to) => saveFrom(access(), { layout, dialect: settings.dialect }, to),
  });
  const work = (signal: AbortSignal) => {
    const all = [backups.run(signal)];
    // Whoever runs an etcd of his own looks after it.
    if (start.foreignEtcd === undefined) {
      const store = openLastingStore(etcd);
      const openAdmin = async () => new (await import('#etcd-admin/admin.js')).EtcdAdmin(access());
      const upkeep = new EtcdUpkeep({ store, openAdmin, quotaBytes: etcdQuotaBytes, clock, log });
      all.push(upkeep.run(signal).finally(() => store.close()));
    }
    return Promise.all(all);
  };
  running.push(backgroundWork('care of the store', work));
}
