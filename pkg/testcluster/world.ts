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

/** Resolves after everything that is ready: promise jobs, and callbacks of sockets and streams. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** `/test/clock` and `/test/settle`. A manual clock stands still once the cluster has started, and runs again at its end. */
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
    cachesComplete: (dueMs) => cachesComplete(cluster, process, dueMs),
  });
  manual?.watchHeartbeats(() => allNodesRun(cluster));
  return {
    endpoints: [clockEndpoint({ clock, settling, turn }), settleEndpoint(settling)],
    around(request, next) {
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

/** Whether each Node object has an agent of this cluster that runs. */
function allNodesRun(cluster: TestClusterParts): boolean {
  const agents = [...cluster.nodes().values()];
  const objects = cluster.process().api.storages.sizeOf('', 'nodes') ?? 0;
  return agents.length === objects && agents.every(({ agent }) => agent.isRunning);
}
