import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { type PodInfo, schedulingKeys } from '#scheduler/cluster/pod-info.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import { LocalFilters, PodFilters } from '#scheduler/decision/pod-filters.js';
import { prepare } from '#scheduler/decision/prepared-filter.js';
import { type PreparedScore, prepareScores } from '#scheduler/decision/prepared-score.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** The prepared plugins of a profile for pods that are equal for scheduling. */
export interface Plan {
  readonly filters: PodFilters;
  readonly scores: PodScores;
  readonly epoch: number;
}

/** The part that depends only on the pods' specs. */
interface LocalPlan {
  readonly filters: LocalFilters;
  readonly scores: readonly PreparedScore[];
  readonly epoch: number;
}

/** Limit of cached specs; each takes about 50 bytes per node. */
const maxSpecs = 128;
/** Limit of cached pod kinds. */
const maxPods = 128;

export class Plans {
  readonly #cluster: Cluster;
  readonly #local = new LruCache<string, LocalPlan>({ limit: maxSpecs, onEvict: closeLocal });
  readonly #plans = new LruCache<string, Plan>({ limit: maxPods, onEvict: close });
  /** The keys of the last pod, since a pod that fits nowhere is looked up twice. */
  #last: { readonly info: PodInfo; readonly keys: ReturnType<typeof schedulingKeys> } | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The plan for a decision that begins now. `step` measures its plugins. */
  begin(info: PodInfo, profile: Profile, step?: MeasureStep): Plan {
    const plan = this.#planFor(info, profile, step);
    plan.filters.begin(step);
    return plan;
  }

  #planFor(info: PodInfo, profile: Profile, step: MeasureStep | undefined): Plan {
    const { epoch, objects } = this.#cluster;
    if (this.#last?.info !== info) this.#last = { info, keys: schedulingKeys(info) };
    const { pod, spec } = this.#last.keys;
    const key = `${profile.schedulerName} ${objects.spreadSelector(info.pod)} ${pod}`;
    const cachedPlan = this.#plans.get(key);
    if (cachedPlan?.epoch === epoch) return cachedPlan;
    if (cachedPlan !== undefined) close(cachedPlan);
    const local = this.#localOf(info, profile, `${profile.schedulerName} ${spec}`, step);
    const plan: Plan = {
      epoch,
      filters: new PodFilters(local.filters, prepare(globalPoints(profile.filters), info, this.#cluster, step)),
      scores: new PodScores(local.scores, prepareScores(profile.scores.filter(isGlobal), info, this.#cluster, step)),
    };
    this.#plans.set(key, plan);
    return plan;
  }

  #localOf(info: PodInfo, profile: Profile, key: string, step: MeasureStep | undefined): LocalPlan {
    const { epoch } = this.#cluster;
    const cachedPlan = this.#local.get(key);
    if (cachedPlan?.epoch === epoch) return cachedPlan;
    if (cachedPlan !== undefined) closeLocal(cachedPlan);
    const plan: LocalPlan = {
      epoch,
      filters: new LocalFilters(prepare(localPoints(profile.filters), info, this.#cluster, step)),
      scores: prepareScores(
        profile.scores.filter((at) => !isGlobal(at)),
        info,
        this.#cluster,
        step,
      ),
    };
    this.#local.set(key, plan);
    return plan;
  }
}

/** Filters run in order, so those after the first non-local one are not cached either. */
function firstGlobal(points: Profile['filters']): number {
  const first = points.findIndex(isGlobal);
  return first < 0 ? points.length : first;
}

const isGlobal = ({ point }: Profile['filters'][number] | Profile['scores'][number]): boolean => !point.local;
const localPoints = (points: Profile['filters']) => points.slice(0, firstGlobal(points));
const globalPoints = (points: Profile['filters']) => points.slice(firstGlobal(points));

function close({ filters, scores }: Plan): void {
  filters.close();
  scores.close();
}

function closeLocal({ filters, scores }: LocalPlan): void {
  filters.close();
  for (const { node } of scores) node.close?.();
}

/** One plugin's scores, in the order of the nodes. */
export interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  readonly scores: Float64Array;
}

interface TotalsOptions {
  /** Called when all plugins have seen the nodes, before the first score. */
  readonly begun?: () => void;
  /** Receives each plugin's scores. */
  readonly each?: (scores: PluginScores) => void;
  /** Measures some calls of all plugins, as release 1.24. */
  readonly step?: MeasureStep | undefined;
}

/** The scores of a profile for pods that are equal for scheduling. */
class PodScores {
  readonly #all: readonly PreparedScore[];
  readonly #global: readonly PreparedScore[];
  /** Buffer of the last result, reused while the number of nodes is the same. */
  #totals = new Float64Array(0);

  /** The caller closes `local`. */
  constructor(local: readonly PreparedScore[], global: readonly PreparedScore[]) {
    this.#all = [...local, ...global];
    this.#global = global;
  }

  /** Total score per node, except parts equal for all; valid until the next call. `slots`: bound of the nodes' slots. */
  totals(nodes: readonly NodeInfo[], slots: number, options: TotalsOptions = {}): Float64Array {
    const { begun, each, step } = options;
    if (this.#totals.length !== nodes.length) this.#totals = new Float64Array(nodes.length);
    const totals = this.#totals.fill(0);
    const active = step === undefined ? this.#all.filter(({ isIdle }) => !isIdle) : this.#all;
    for (const prepared of active) prepared.begin(nodes, step);
    begun?.();
    for (const prepared of active) {
      const { plugin, weight } = prepared;
      const scores = prepared.scores(nodes, slots, step);
      each?.({ plugin, weight, scores });
      addWeighted(totals, scores, weight);
    }
    return totals;
  }

  close(): void {
    for (const { node } of this.#global) node.close?.();
  }
}

function addWeighted(totals: Float64Array, scores: Float64Array, weight: number): void {
  for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
}
