/** What a cluster does for its store while it runs: room is given back, and backups are made as they are planned. */
import { saveFrom } from '#cmd/orch/backup/save.js';
import { ScheduledBackups } from '#cmd/orch/backup/scheduled.js';
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
  const stop = new AbortController();
  const all = [backups.run(stop.signal)];
  // Whoever runs an etcd of his own looks after it.
  if (start.foreignEtcd === undefined) {
    const store = openLastingStore(etcd);
    const openAdmin = async () => new (await import('#etcd-admin/admin.js')).EtcdAdmin(access());
    const upkeep = new EtcdUpkeep({ store, openAdmin, quotaBytes: etcdQuotaBytes, clock, log });
    all.push(upkeep.run(stop.signal).finally(() => store.close()));
  }
  const work = Promise.all(all);
  // Whoever closes it hears of a failure.
  work.catch(() => undefined);
  running.push({
    name: 'care of the store',
    close: async () => {
      stop.abort();
      await work;
    },
  });
}
