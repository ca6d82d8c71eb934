import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import { type PodInfo, schedulingKey } from '#scheduler/cluster/pod-info.js';
import { PodFilters } from '#scheduler/decision/pod-filters.js';
import { PodScores } from '#scheduler/decision/pod-scores.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** What the plugins of a profile have worked out for pods that scheduling cannot tell apart. */
export interface Plan {
  readonly filters: PodFilters;
  readonly scores: PodScores;
}

interface KeptPlan extends Plan {
  readonly epoch: number;
}

/** Kinds of pods whose plans are kept; each costs some ten bytes per node and plugin. */
const keptPlans = 128;

export class Plans {
  readonly #cluster: Cluster;
  readonly #kept = new LruCache<string, KeptPlan>({ limit: keptPlans, onEvict: close });

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  of(pod: PodInfo, profile: Profile): Plan {
    const { epoch, objects } = this.#cluster;
    const key = `${profile.schedulerName} ${objects.spreadSelector(pod.pod)} ${schedulingKey(pod)}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      if (kept.epoch === epoch) return kept;
      close(kept);
    }
    const plan: KeptPlan = {
      epoch,
      filters: new PodFilters(profile.filters, pod, this.#cluster),
      scores: new PodScores(profile.scores, pod, this.#cluster),
    };
    this.#kept.set(key, plan);
    return plan;
  }
}

function close({ filters, scores }: Plan): void {
  filters.close();
  scores.close();
}
