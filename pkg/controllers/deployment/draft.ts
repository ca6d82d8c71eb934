/** The ReplicaSets of a deployment during planning: changed in memory, then written once. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { replicasOf } from '#controllers/deployment/replica-counts.js';
import { sizeAnnotations } from '#controllers/deployment/revisions.js';
import { byCreation } from '#controllers/framework/order.js';

export interface ReplicaSetUpdate {
  readonly replicaSet: ReplicaSet;
  /** The event's message when the size changes. */
  readonly message?: string;
}

export class Draft {
  readonly #dialect: Dialect;
  readonly #deployment: Deployment;
  /** The cached objects by UID. */
  readonly #original: ReadonlyMap<string, ReplicaSet>;
  /** Oldest first. */
  readonly #current: ReplicaSet[];
  readonly #newestUID: string | undefined;

  constructor(dialect: Dialect, deployment: Deployment, sets: readonly ReplicaSet[], newest: ReplicaSet | undefined) {
    this.#dialect = dialect;
    this.#deployment = deployment;
    this.#current = [...sets].sort(byCreation);
    this.#original = new Map(sets.map((set) => [set.metadata.uid ?? '', set]));
    this.#newestUID = newest?.metadata.uid;
  }

  get all(): readonly ReplicaSet[] {
    return this.#current;
  }

  get newest(): ReplicaSet | undefined {
    return this.#current.find((set) => set.metadata.uid === this.#newestUID);
  }

  /** All except the newest, oldest first. */
  get old(): readonly ReplicaSet[] {
    return this.#current.filter((set) => set.metadata.uid !== this.#newestUID);
  }

  get active(): readonly ReplicaSet[] {
    return this.#current.filter((set) => replicasOf(set) > 0);
  }

  replace(set: ReplicaSet): void {
    const index = this.#current.findIndex((each) => each.metadata.uid === set.metadata.uid);
    if (index >= 0) this.#current[index] = set;
  }

  /** Sets the size, and records the deployment's size in annotations. True when the size changes. */
  scale(set: ReplicaSet, size: number): boolean {
    const annotations = { ...set.metadata.annotations, ...sizeAnnotations(this.#dialect, this.#deployment) };
    this.replace({ ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas: size } });
    return size !== replicasOf(set);
  }

  /** The sets to write, growing sets first so that new pods are requested before old pods are removed. */
  updates(): ReplicaSetUpdate[] {
    const updates: (ReplicaSetUpdate & { readonly growth: number })[] = [];
    for (const replicaSet of this.#current) {
      const original = this.#original.get(replicaSet.metadata.uid ?? '');
      if (original === undefined || original === replicaSet || semanticEqual(original, replicaSet)) continue;
      const growth = replicasOf(replicaSet) - replicasOf(original);
      const direction = growth > 0 ? 'up' : 'down';
      const message = `Scaled ${direction} replica set ${replicaSet.metadata.name} to ${replicasOf(replicaSet)}`;
      updates.push({ replicaSet, growth, ...(growth === 0 ? {} : { message }) });
    }
    return updates.sort((a, b) => b.growth - a.growth);
  }
}
