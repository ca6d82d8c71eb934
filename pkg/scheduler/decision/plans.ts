import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { type PodInfo, schedulingKeys } from '#scheduler/cluster/pod-info.js';
import { LocalFilters } from '#scheduler/decision/local-filters.js';
import type { MeasureStep } from '#scheduler/decision/measure-step.js';
import { PodFilters } from '#scheduler/decision/pod-filters.js';
import { prepare } from '#scheduler/decision/prepared-filter.js';
import { type PreparedScore, prepareScores } from '#scheduler/decision/prepared-score.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** What the plugins of a profile have worked out for pods that scheduling cannot tell apart. */
export interface Plan {
  readonly filters: PodFilters;
  readonly scores: PodScores;
  readonly epoch: number;
}

/** The part that depends on the pods' specs alone. */
interface LocalPlan {
  readonly filters: LocalFilters;
  readonly scores: readonly PreparedScore[];
  readonly epoch: number;
}

/** Kinds of specs that are remembered; each takes some 50 bytes per node. */
const keptSpecs = 128;
/** Kinds of pods that are remembered. */
const keptPods = 128;

export class Plans {
  readonly #cluster: Cluster;
  readonly #local = new LruCache<string, LocalPlan>({ limit: keptSpecs, onEvict: closeLocal });
  readonly #plans = new LruCache<string, Plan>({ limit: keptPods, onEvict: close });
  /** Of the pod asked about last: one that fits nowhere is asked about twice. */
  #last: { readonly info: PodInfo; readonly keys: ReturnType<typeof schedulingKeys> } | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** For a decision that begins now. `step`: where its plugins are measured. */
  of(info: PodInfo, profile: Profile, step?: MeasureStep): Plan {
    const plan = this.#of(info, profile, step);
    plan.filters.begin(step);
    return plan;
  }

  #of(info: PodInfo, profile: Profile, step: MeasureStep | undefined): Plan {
    const { epoch, objects } = this.#cluster;
    if (this.#last?.info !== info) this.#last = { info, keys: schedulingKeys(info) };
    const { pod, spec } = this.#last.keys;
    const key = `${profile.schedulerName} ${objects.spreadSelector(info.pod)} ${pod}`;
    const kept = this.#plans.get(key);
    if (kept?.epoch === epoch) return kept;
    if (kept !== undefined) close(kept);
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
    const kept = this.#local.get(key);
    if (kept?.epoch === epoch) return kept;
    if (kept !== undefined) closeLocal(kept);
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

/** Filters are asked in order: what comes after one that is not local is not remembered either. */
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

/** What one plugin gives to nodes, in their order. */
export interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  readonly scores: Float64Array;
}

interface TotalsOptions {
  /** Called when all plugins know the nodes, before the first score. */
  readonly begun?: () => void;
  /** Hears what every plugin gives. */
  readonly each?: (of: PluginScores) => void;
  /** Takes the time of some calls, of all plugins as in release 1.24. */
  readonly step?: MeasureStep | undefined;
}

/** The scores of a profile for pods that scheduling cannot tell apart. */
class PodScores {
  readonly #all: readonly PreparedScore[];
  readonly #others: readonly PreparedScore[];
  /** What the last call gave, one for each node; used again while there are as many. */
  #totals = new Float64Array(0);

  /** The caller closes `local`. */
  constructor(local: readonly PreparedScore[], others: readonly PreparedScore[]) {
    this.#all = [...local, ...others];
    this.#others = others;
  }

  /** The nodes' totals, but for what all nodes get alike; valid until the next call. `slots`: more than any node's. */
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
    for (const { node } of this.#others) node.close?.();
  }
}

function addWeighted(totals: Float64Array, scores: Float64Array, weight: number): void {
  for (let i = 0; i < totals.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
}
