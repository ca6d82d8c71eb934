/** Paths below the data directory of a cluster. */
import { join } from 'node:path';

export interface Layout {
  readonly root: string;
  /** `ClusterSettings` in JSON. */
  readonly settings: string;
  /** The administrator's client configuration. */
  readonly clientConfig: string;
  readonly pki: string;
  readonly etcd: string;
  readonly logs: string;
  /** Policy of the audit log; the user may change it. */
  readonly auditPolicy: string;
  readonly auditLog: string;
  /** Identity files of running processes. */
  readonly run: string;
  /** The options with which a daemon was started, in JSON. */
  arguments(daemon: string): string;
  /** Identity of the process that runs the cluster, or the node. */
  readonly process: string;
  /** Name of the part that is being stopped; exists only meanwhile. */
  readonly stopping: string;
  /** Exists while a backup is being restored into the directory. */
  readonly restoring: string;
  /** `BackupPlan` in JSON. */
  readonly backupPlan: string;
  /** Default folder of backups: beside the directory, since they outlive the cluster. */
  readonly backups: string;
  /** Address of the cluster's name server; exists while it is claimed. */
  readonly dnsAddress: string;
  /** Authority of the cluster that this machine has joined. */
  readonly joinedCa: string;
  /** API servers of that cluster: `ServerList` in JSON. */
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
    auditPolicy: join(dataDir, 'audit-policy.json'),
    auditLog: join(dataDir, 'logs', 'audit.log'),
    run: join(dataDir, 'run'),
    arguments: (daemon) => join(dataDir, 'run', `${daemon}.args.json`),
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
