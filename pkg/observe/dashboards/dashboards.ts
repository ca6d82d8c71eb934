import { apiServerDashboard } from '#observe/dashboards/apiserver.js';
import { clusterDashboard } from '#observe/dashboards/cluster.js';
import { controllersDashboard } from '#observe/dashboards/controllers.js';
import type { Dashboard } from '#observe/dashboards/dashboard.js';
import { etcdDashboard } from '#observe/dashboards/etcd.js';
import { nodesDashboard } from '#observe/dashboards/nodes.js';
import { schedulerDashboard } from '#observe/dashboards/scheduler.js';
import { workloadsDashboard } from '#observe/dashboards/workloads.js';
import type { Names } from '#observe/names.js';

export function dashboards(names: Names): Dashboard[] {
  return [
    clusterDashboard(names),
    apiServerDashboard(names),
    etcdDashboard(names),
    schedulerDashboard(),
    controllersDashboard(),
    nodesDashboard(names),
    workloadsDashboard(names),
  ];
}
