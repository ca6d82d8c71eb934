/** Calculates the operations per second on the API server of a large cluster, and their cost. */
import type { Costs } from '#test/bench/scale-model/costs.js';

export interface ClusterSize {
  readonly nodes: number;
  readonly pods: number;
  /** Created and deleted pods per second. */
  readonly churn: number;
  /** Status changes per running pod and hour. */
  readonly statusChangesPerHour: number;
  /** The fraction of pods in services; each change of their readiness goes to every node's proxy. */
  readonly selected: number;
  /** Lists of all pods per controller and hour. */
  readonly relistsPerHour: number;
  readonly podJsonBytes: number;
}

/** The largest supported cluster of release 1.24. */
export const largest: ClusterSize = {
  nodes: 5000,
  pods: 150_000,
  churn: 20,
  statusChangesPerHour: 0.5,
  selected: 0.5,
  relistsPerHour: 1,
  podJsonBytes: 6700,
};

/** A kind of request and its consequences. */
export interface Activity {
  readonly name: string;
  readonly perSecond: number;
  /** CPU time of the serving worker in ms. */
  readonly serveMs: number;
  /** Changed objects per request. */
  readonly changes: 0 | 1;
  /** Watchers per change. */
  readonly watchers: number;
}

const leasePeriodS = 10;
const nodeStatusPeriodS = 300;
/** Watchers of all pods: the scheduler, the controller manager. */
const podWatchers = 2;
/** Watchers of all nodes, and a node's agent and proxy. */
const nodeWatchers = 4;
/** Status writes per pod life: not ready, ready, terminating. */
const statusesPerPod = 3;
const eventsPerPod = 5;
/** Gets of claims, maps, secrets and tokens per pod start. */
const getsPerPod = 3;
const controllers = 3;
/** Watches per node: its pods and object, services, slices, the proxy's node, and its pods' maps. */
const watchesPerNode = 15;
const eventLifetimeS = 3600;
const eventBytes = 1000;
const nodeBytes = 12_000;

export function activities(size: ClusterSize, costs: Costs): Activity[] {
  const { churn, nodes, pods } = size;
  const { create, get, lease, patch, update } = costs;
  const running = (pods * size.statusChangesPerHour) / 3600;
  const ofNode = podWatchers + 1;
  const change = (name: string, perSecond: number, serveMs: number, watchers: number): Activity => ({
    name,
    perSecond,
    serveMs,
    changes: 1,
    watchers,
  });
  const read = (name: string, perSecond: number, serveMs: number): Activity => ({
    name,
    perSecond,
    serveMs,
    changes: 0,
    watchers: 0,
  });
  return [
    change('leases renewed', nodes / leasePeriodS, lease, 1),
    change('node statuses', nodes / nodeStatusPeriodS, patch, nodeWatchers),
    change('pods created', churn, create, podWatchers),
    change('pods bound', churn, update, ofNode),
    change('statuses of pods that start and end', churn * statusesPerPod, get + patch, ofNode),
    change('statuses of running pods', running, get + patch, ofNode),
    change('pods deleted, marked and removed', churn * 2, update, ofNode),
    change('events', churn * eventsPerPod, create, 0),
    // One change each for a ready pod, an ended pod, and a changed pod.
    change('endpoint slices', (2 * churn + running) * size.selected, update, nodes + 1),
    read('what agents read for pods', churn * getsPerPod, get),
    read(
      'lists of all pods',
      (controllers * size.relistsPerHour) / 3600,
      (costs.list * pods * size.podJsonBytes) / 1e6,
    ),
  ];
}

export interface Demand {
  readonly requestsPerSecond: number;
  readonly changesPerSecond: number;
  readonly eventsPerSecond: number;
  /** Busy cores of the workers, without following changes. */
  readonly workerCores: number;
  /** The fraction of a core that each worker needs to follow all changes. */
  readonly followCores: number;
}

const sum = (all: readonly Activity[], of: (activity: Activity) => number) =>
  all.reduce((total, activity) => total + of(activity), 0);

export function demand(all: readonly Activity[], costs: Costs): Demand {
  const changesPerSecond = sum(all, ({ changes, perSecond }) => changes * perSecond);
  const eventsPerSecond = sum(all, ({ changes, perSecond, watchers }) => changes * perSecond * watchers);
  const serving = sum(all, ({ perSecond, serveMs }) => perSecond * serveMs);
  return {
    requestsPerSecond: sum(all, ({ perSecond }) => perSecond),
    changesPerSecond,
    eventsPerSecond,
    workerCores: (serving + eventsPerSecond * costs.watchEvent) / 1000,
    followCores: (changesPerSecond * costs.follow) / 1000,
  };
}

/** The maximum utilization of a thread with low latency. */
export const fullAt = 0.7;

/** The minimum number of workers below the maximum utilization; undefined if no number suffices. */
export function workersNeeded({ workerCores, followCores }: Demand): number | undefined {
  const left = fullAt - followCores;
  return left <= 0 ? undefined : Math.max(1, Math.ceil(workerCores / left));
}

/** The rate of changes at which following alone exceeds the maximum utilization, regardless of the number of workers. */
export const followBound = ({ follow }: Costs): number => (fullAt * 1000) / follow;

export function memoryBytes(size: ClusterSize, costs: Costs, workers: number): number {
  const { nodes, pods, churn } = size;
  const objects = pods * costs.podBytes + nodes * nodeBytes + churn * eventsPerPod * eventLifetimeS * eventBytes;
  const watches = nodes * watchesPerNode * costs.watchBytes;
  // Each worker has its own cache and a share of the watches.
  return (workers > 1 ? costs.supervisorBytes : 0) + workers * (costs.workerBytes + objects) + watches;
}
