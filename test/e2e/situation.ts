/** The state of a cluster, for the output of a failed test. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { deployments, replicasets } from '#api/apps/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import { layoutOf } from '#cluster/config/layout.js';
import { readSettings } from '#cluster/config/settings.js';
import { run, type TestCluster } from '#test/e2e/harness.js';
import { adminClient, processesOf } from '#test/e2e/observe.js';

const logLines = 25;

/** Runs the work; an error of it also describes the state of the cluster. */
export async function explained<T>(cluster: TestCluster, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(`${message}: ${String(cause)}\n${await situation(cluster)}`, { cause: error });
  }
}

async function situation(cluster: TestCluster): Promise<string> {
  const client = await adminClient(cluster, readSettings(layoutOf(cluster.dataDir).settings)?.dialect);
  try {
    const parts = [
      ...(await objectsOf(client, deployments)),
      ...(await objectsOf(client, replicasets)),
      ...(await objectsOf(client, pods)),
      ...(await processesOf(cluster.dataDir)).map((command) => command.slice(0, 200)),
      ...(await logsOf(cluster)),
    ];
    return parts.join('\n');
  } finally {
    await client.close();
  }
}

/** One line for each object. */
async function objectsOf<T extends ApiObject>(client: Client, type: ResourceType<T>): Promise<string[]> {
  try {
    const { items } = await client.resource(type).list();
    return items.map(({ metadata, ...rest }) => {
      const { managedFields: _unread, ...shown } = metadata;
      return `${type.kind} ${JSON.stringify({ ...rest, metadata: shown })}`;
    });
  } catch (error) {
    return [`no answer about ${type.resource}: ${String(error)}`];
  }
}

async function logsOf({ dataDir }: TestCluster): Promise<string[]> {
  const { logs } = layoutOf(dataDir);
  const files = (await readdir(logs)).filter((file) => file !== 'etcd.log');
  return Promise.all(
    files.map(async (file) => {
      const { stdout } = await run('tail', ['-n', String(logLines), join(logs, file)]);
      return `${file}:\n${stdout}`;
    }),
  );
}
