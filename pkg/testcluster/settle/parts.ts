/** The parts of a running test cluster whose work `settle` waits for. */
import type { Clock } from '#apimachinery/clock.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import type { ObservedRequest, TestClusterParts } from '#testcluster/feature/feature.js';
import type { Parts } from '#testcluster/settle/activity.js';
import type { OpenRequests } from '#testcluster/settle/requests.js';

/** A resource's last change, and its version as text. */
interface LastChange {
  readonly group: string;
  readonly plural: string;
  revision: bigint;
  text: string;
}

export function partsOf(cluster: TestClusterParts): Parts {
  const changes = new Map<string, LastChange>();
  const lastChange = (resource: string): LastChange => {
    let change = changes.get(resource);
    if (change === undefined) {
      const [group = '', , plural = ''] = resource.split('/');
      change = { group: cluster.dialect.groupName(group as GroupKey), plural, revision: 0n, text: '' };
      changes.set(resource, change);
    }
    return change;
  };
  return {
    queues: () => cluster.process().activity.queues(),
    agents: () => cluster.process().activity.agents(),
    recorders: () => cluster.process().activity.recorders(),
    informers: () => cluster.process().activity.informers(),
    changedAt(resource) {
      const change = lastChange(resource);
      const revision = cluster.process().api.storages.changedAt(change.group, change.plural);
      if (revision === undefined) return undefined;
      if (revision !== change.revision) {
        change.revision = revision;
        change.text = `${revision}`;
      }
      return change.text;
    },
  };
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Counts the requests of the cluster's own loops, and all writes. */
export class RequestCount {
  readonly #requests: OpenRequests;
  #writes = 0;

  constructor(requests: OpenRequests) {
    this.#requests = requests;
  }

  /** Requests that may have changed something, of all clients. */
  get writes(): number {
    return this.#writes;
  }

  /** Call it when a request begins, and the returned function when it ends. */
  begin({ request, info, user }: ObservedRequest): () => void {
    const isWrite = !readVerbs.has(info.verb);
    const isLoop = request.peer === undefined && info.verb !== 'watch';
    const end = isLoop ? this.#requests.begin(`${user.name}: ${info.verb} ${info.path}`) : undefined;
    return () => {
      if (isWrite) this.#writes += 1;
      end?.();
    };
  }
}

/** Waits until the caches of a store outside of this process are complete. False after `dueMs`. */
export async function cachesComplete(cluster: TestClusterParts, process: Clock, dueMs: number): Promise<boolean> {
  if (cluster.store !== undefined) return true;
  const { storages } = cluster.process().api;
  const newest = await storages.stores.main.currentRevision();
  while (storages.completeAt < newest) {
    if (process.monotonic() >= dueMs) return false;
    storages.stores.main.requestProgress();
    await process.sleep(pollMs);
  }
  return true;
}

const pollMs = 5;
