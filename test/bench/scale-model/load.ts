/** On paper: what the API server of a large cluster has to do each second, and what that takes. */
import type { Costs } from '#test/bench/scale-model/costs.js';

export interface ClusterSize {
  readonly nodes: number;
  readonly pods: number;
  /** Pods that come and pods that go, each second. */
  readonly churn: number;
  /** How often a running pod changes its status, each hour. */
  readonly statusChangesPerHour: number;
  /** Part of the pods that services select: each change of their readiness goes to every node's proxy. */
  readonly selected: number;
  /** How often each controller lists all pods again, each hour. */
  readonly relistsPerHour: number;
  readonly podJsonBytes: number;
}

/** The largest that release 1.24 is meant for. */
export const largest: ClusterSize = {
  nodes: 5000,
  pods: 150_000,
  churn: 20,
  statusChangesPerHour: 0.5,
  selected: 0.5,
  relistsPerHour: 1,
  podJsonBytes: 6700,
};

/** One kind of request, each with what follows from it. */
export interface Activity {
  readonly name: string;
  readonly perSecond: number;
  /** CPU of the worker that serves one; ms. */
  readonly serveMs: number;
  /** Objects that one changes. */
  readonly changes: 0 | 1;
  /** Watchers that get each change. */
  readonly watchers: number;
}

const leasePeriodS = 10;
const nodeStatusPeriodS = 300;
/** Watch all pods: the scheduler, the controller manager. */
const podWatchers = 2;
/** Follow all nodes, and a node itself by its agent and its proxy. */
const nodeWatchers = 4;
/** Statuses that an agent writes between a pod's start and its end: not ready, ready, ending. */
const statusesPerPod = 3;
const eventsPerPod = 5;
/** Claims, maps, secrets and tokens that an agent asks for when a pod starts. */
const getsPerPod = 3;
const controllers = 3;
/** Watches of each node: its own pods and object, services, slices, node of the proxy, and the maps of its pods. */
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
    // One change for a pod that gets ready, one for a pod that ends, one for each that changes.
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
  /** Cores that workers are busy with, without what each of them does for every change. */
  readonly workerCores: number;
  /** Part of its core that each worker is busy with following all changes. */
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

/** Part of a core that a thread may be busy if answers are to come soon. */
export const fullAt = 0.7;

/** Least number of workers that are not too busy; undefined: none is enough. */
export function workersNeeded({ workerCores, followCores }: Demand): number | undefined {
  const left = fullAt - followCores;
  return left <= 0 ? undefined : Math.max(1, Math.ceil(workerCores / left));
}

/** Changes a second that keep a worker too busy to serve: more workers do not help then. */
export const followBound = ({ follow }: Costs): number => (fullAt * 1000) / follow;

export function memoryBytes(size: ClusterSize, costs: Costs, workers: number): number {
  const { nodes, pods, churn } = size;
  const objects = pods * costs.podBytes + nodes * nodeBytes + churn * eventsPerPod * eventLifetimeS * eventBytes;
  const watches = nodes * watchesPerNode * costs.watchBytes;
  // Each worker has a cache of its own, and a part of the watches.
  return (workers > 1 ? costs.supervisorBytes : 0) + workers * (costs.workerBytes + objects) + watches;
}
