/** Time, rest and snapshots of a test cluster, which share the knowledge of what it does. */
import { processClock } from '#apimachinery/clock.js';
import { FileWork } from '#apimachinery/time/file-work.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { clockEndpoint } from '#testcluster/clock/feature.js';
import type { TestClusterParts, TestFeatureFactory } from '#testcluster/feature/feature.js';
import { settleEndpoint } from '#testcluster/settle/feature.js';
import { cachesComplete, partsOf, RequestCount } from '#testcluster/settle/parts.js';
import { OpenRequests } from '#testcluster/settle/requests.js';
import { Settling } from '#testcluster/settle/settle.js';
import { snapshotEndpoint } from '#testcluster/snapshot/feature.js';
import { Gate } from '#testcluster/snapshot/gate.js';
import { Snapshots } from '#testcluster/snapshot/snapshots.js';

/** Resolves after everything that is ready: promise jobs, and callbacks of sockets and streams. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Root of the objects' keys in the store of a test cluster. */
const root = '/registry';
/** How long events last, by the API server's default; restored ones begin anew. */
const eventSeconds = 3600;
/** How long a restore waits for the cluster's rest before it goes on without. */
const restMs = 5000;

/** `/test/clock`, `/test/settle` and `/test/snapshots`. A manual clock stands still once the cluster has started, and runs again at its end. */
export const world: TestFeatureFactory = (cluster) => {
  const { clock } = cluster;
  const manual = clock instanceof ManualClock ? clock : undefined;
  const process = processClock(clock);
  const requests = new OpenRequests();
  const count = new RequestCount(requests);
  const fileWork = new FileWork();
  const settling = new Settling({
    ...{ parts: partsOf(cluster), requests, manual, process, turn },
    writes: () => count.writes,
    fileWork: () => fileWork.count,
    waitingTurns: () => cluster.process().api.waitingTurns,
    cachesComplete: (dueMs) => cachesComplete(cluster, process, dueMs),
  });
  const gate = new Gate();
  const snapshots = new Snapshots({
    places: () => [{ store: cluster.process().api.storages.stores.main, root }],
    lifetime: (key) => (key.startsWith(`${root}/events/`) ? eventSeconds : undefined),
    now: () => clock.now(),
    manual,
    rest: async () => void (await settling.settle(restMs)),
    forgetPods: (keys) => forgetPods(cluster, keys),
    hold: () => gate.close(),
  });
  manual?.watchHeartbeats(() => allNodesRun(cluster));
  return {
    endpoints: [
      clockEndpoint({ clock, process, settling, turn }),
      settleEndpoint(settling),
      snapshotEndpoint(snapshots),
    ],
    around(request, next) {
      if (gate.opened !== undefined) return gate.opened.then(next);
      const end = count.begin(request);
      let response: ReturnType<typeof next>;
      try {
        response = next();
      } catch (error) {
        end();
        throw error;
      }
      if (!(response instanceof Promise)) {
        end();
        return response;
      }
      return response.finally(end);
    },
    beginWork: (description) => requests.begin(description),
    async started() {
      fileWork.start();
      manual?.hold();
    },
    async close() {
      manual?.resume();
      fileWork.stop();
    },
  };
};

async function forgetPods(cluster: TestClusterParts, keys: readonly string[]): Promise<void> {
  const all = new Set(keys);
  await Promise.all([...cluster.nodes().values()].map(({ agent }) => agent.forgetPods(all)));
}

/** Whether each Node object has an agent of this cluster that runs. */
function allNodesRun(cluster: TestClusterParts): boolean {
  const agents = [...cluster.nodes().values()];
  const objects = cluster.process().api.storages.sizeOf('', 'nodes') ?? 0;
  return agents.length === objects && agents.every(({ agent }) => agent.isRunning);
}
