/** Options of both controller managers that shorten minutes to seconds. */
export const managerSettings = [
  '--leader-elect=false',
  '--horizontal-pod-autoscaler-sync-period=1s',

  '--node-eviction-rate=100',
  '--node-monitor-grace-period=600s',
  '--node-startup-grace-period=600s',
  '--pvclaimbinder-sync-period=1s',
  '--resource-quota-sync-period=10s',
  '--concurrent-deployment-syncs=20',
  '--concurrent-gc-syncs=20',
  '--concurrent-replicaset-syncs=20',
  '--concurrent-statefulset-syncs=20',
  '--concurrent-namespace-syncs=20',
] as const;
