/** Gathers the facts that decide about an upgrade. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import { schemeFor } from '#api/scheme.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { readAll } from '#client/rest/response.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { openStore } from '#cluster/etcd/access.js';
import type { EtcdFacts, NodeFacts, UpgradeFacts } from '#cluster/upgrade/findings.js';
import { readStoredObjects, type StoredObjects } from '#cluster/upgrade/stored-objects.js';
import type { VersionInfo } from '#daemon/version.js';
import { type EtcdAccess, EtcdAdmin } from '#etcd-admin/admin.js';

/** Limit; the metrics of a server have some hundred kilobytes. */
const maxMetricsBytes = 64 * 1024 * 1024;

export function versionOfServer(client: RestClient): Promise<VersionInfo> {
  return client.request<VersionInfo>('GET', '/version');
}

export async function nodeFacts(client: RestClient): Promise<NodeFacts[]> {
  const { items } = await client.resource(nodes).list();
  return items.map((node) => ({
    name: node.metadata.name ?? '',
    version: node.status?.nodeInfo?.kubeletVersion ?? '',
    isReady: isNodeReady(node),
  }));
}

export async function deprecatedRequests(client: RestClient): Promise<UpgradeFacts['deprecated']> {
  const { body } = await client.open({ method: 'GET', path: '/metrics' });
  return deprecatedIn((await readAll(body, maxMetricsBytes)).toString());
}

/** Pure. @param metrics In the text format of Prometheus. */
export function deprecatedIn(metrics: string): { name: string; removedIn: string }[] {
  const resources: { name: string; removedIn: string }[] = [];
  for (const [, labels = ''] of metrics.matchAll(/^apiserver_requested_deprecated_apis\{(.*)\} 1$/gm)) {
    const value = new Map([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text]));
    const [group = '', removed = ''] = [value.get('group'), value.get('removed_release')];
    const name = `${value.get('resource') ?? ''}${group === '' ? '' : `.${group}`}/${value.get('version') ?? ''}`;
    if (removed !== '') resources.push({ name, removedIn: `v${removed}` });
  }
  return resources;
}

/** Objects in the store, and state of its members. */
export async function storeFacts(
  access: EtcdAccess,
  dialect: Dialect,
  onProgress: (objects: number) => void,
): Promise<{ stored: StoredObjects; etcd: EtcdFacts; bytes: number }> {
  const store = openStore(access);
  const admin = new EtcdAdmin(access);
  try {
    const stored = await readStoredObjects(store, { prefix: '/registry/', scheme: schemeFor(dialect), onProgress });
    const [members, alarms] = await Promise.all([admin.members(), admin.alarms()]);
    const away: string[] = [];
    let bytes = 0;
    const look = async ({ name, clientURLs: [endpoint = ''] }: (typeof members)[number]) => {
      try {
        bytes = Math.max(bytes, (await admin.status(endpoint)).sizeBytes);
      } catch {
        // The finding refers to `orch etcd status`, which shows the error.
        away.push(name);
      }
    };
    await Promise.all(members.map(look));
    return { stored, etcd: { alarms: alarms.map(({ type }) => type), away }, bytes };
  } finally {
    admin.close();
    await store.close();
  }
}

/** Free bytes on the disk of a folder, which need not exist. */
export async function freeBytes(folder: string): Promise<number> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { bavail, bsize } = await statfs(at);
      return bavail * bsize;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || at === dirname(at)) throw error;
    }
  }
}
