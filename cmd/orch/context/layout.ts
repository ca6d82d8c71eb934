/** Where a cluster keeps its things below its data directory. */
import { join } from 'node:path';

export interface Layout {
  readonly root: string;
  /** What the cluster was created with; see `ClusterSettings`. */
  readonly settings: string;
  /** The administrator's client configuration. */
  readonly clientConfig: string;
  readonly pki: string;
  readonly etcd: string;
  readonly logs: string;
  /** Process identity files of what runs now. */
  readonly run: string;
  /** That of the process which runs the cluster, or the node. */
  readonly process: string;
  /** Names what a cluster that was told to stop waits for; there while it does. */
  readonly stopping: string;
  /** There while a backup is being restored into the directory. */
  readonly restoring: string;
  /** When backups are made, and where; see `BackupPlan`. */
  readonly backupPlan: string;
  /** Where backups are made unless told: beside the directory, since they outlive the cluster. */
  readonly backups: string;
  /** The address that the cluster's name server has taken; there while it has. */
  readonly dnsAddress: string;
  /** The authority of the cluster of which this machine is a node. */
  readonly joinedCa: string;
  /** The API servers of that cluster; see `ServerList`. */
  readonly servers: string;
  /** The node agent's directory of one node. */
  node(name: string): string;
  /** The container runtime's directory of one node. */
  runtime(name: string): string;
  /** Client configuration of one of the cluster's own components. */
  componentConfig(component: string): string;
}

export function layoutOf(dataDir: string): Layout {
  return {
    root: dataDir,
    settings: join(dataDir, 'cluster.json'),
    clientConfig: join(dataDir, 'client.config'),
    pki: join(dataDir, 'pki'),
    etcd: join(dataDir, 'etcd'),
    logs: join(dataDir, 'logs'),
    run: join(dataDir, 'run'),
    process: join(dataDir, 'run', 'orch.pid'),
    stopping: join(dataDir, 'run', 'stopping'),
    restoring: join(dataDir, 'restoring'),
    backupPlan: join(dataDir, 'backup-schedule.json'),
    backups: `${dataDir}-backups`,
    dnsAddress: join(dataDir, 'run', 'dns-address'),
    joinedCa: join(dataDir, 'pki', 'cluster-ca.crt'),
    servers: join(dataDir, 'servers.json'),
    node: (name) => join(dataDir, 'nodes', name),
    runtime: (name) => join(dataDir, 'runtime', name),
    componentConfig: (component) => join(dataDir, 'pki', `${component}.config`),
  };
}
