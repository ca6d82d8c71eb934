/** A test cluster of this process, and what others need to know in order to use it. */
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { queryString } from '#client/rest/paths.js';
import { writeIdentity } from '#cluster/process/identity.js';
import { Guard } from '#testcluster/command/guard.js';
import { type ClusterValues, testClusterOptions } from '#testcluster/command/options.js';
import type { Report } from '#testcluster/report/report.js';
import { clusterFolderPrefix, startTestCluster } from '#testcluster/start-test-cluster.js';

/** Printed as JSON; libraries of other languages read it. */
export interface ClusterFacts {
  /** For `orch test stop`. */
  readonly name: string;
  readonly pid: number;
  /** URL of the API server. */
  readonly url: string;
  /** Path of a client config with all rights. */
  readonly kubeconfig: string;
  /** PEM of the API server's authority, and of a client certificate with all rights. */
  readonly ca: string;
  readonly clientCertificate: string;
  readonly clientKey: string;
  readonly dialect: string;
  readonly nodes: readonly string[];
  /** Variables for the programs that use it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface RunningCluster {
  readonly facts: ClusterFacts;
  readonly guard: Guard;
  /** Rejects when a daemon fails. */
  readonly failed: Promise<void>;
  /** See `/test/report`. Rejects for unknown categories. */
  report(failOn: readonly string[]): Promise<Report>;
  close(): Promise<void>;
}

/** File in the cluster's folder with the identity of its process. */
export const identityFile = 'cluster.pid';

/** @param assets Folder of the programs for KUBEBUILDER_ASSETS. */
export async function runCluster(values: ClusterValues, assets: string): Promise<RunningCluster> {
  const started = await startTestCluster(await testClusterOptions(values));
  const { cluster, folder } = started;
  const guard = new Guard(folder);
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, started.kubeconfig(), { mode: 0o600 });
  writeIdentity(join(folder, identityFile), process.pid);
  const { ca, clientCertificate, clientKey } = started.credentials;
  return {
    guard,
    failed: cluster.failed,
    report: (failOn) => cluster.client.request('GET', `/test/report${queryString({ failOn: failOn.join(',') })}`),
    facts: {
      name: basename(folder).slice(clusterFolderPrefix.length),
      ...{ pid: process.pid, url: started.url(), kubeconfig, ca, clientCertificate, clientKey },
      dialect: cluster.dialect.name,
      nodes: Array.from({ length: values.nodes }, (_, index) => `node-${index}`),
      env: {
        KUBECONFIG: kubeconfig,
        ORCHCONFIG: kubeconfig,
        KUBEBUILDER_ASSETS: assets,
        USE_EXISTING_CLUSTER: 'true',
      },
    },
    async close() {
      try {
        await started.close();
      } finally {
        guard.end();
      }
    },
  };
}
