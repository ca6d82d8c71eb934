import { replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import { namespaces, replicationcontrollers, services } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod, ReplicationController } from '#api/core/v1/types.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor } from '#apimachinery/object-key.js';
import { compileSelector, LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { ServicesByLabels } from '#client/informer/services-by-labels.js';
import { differ } from '#scheduler/cluster/events.js';
import { LiveStorage } from '#scheduler/cluster/live-storage.js';
import type { Budget, ClusterObjects } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** The other objects that plugins read, from informers. */
export class LiveObjects implements ClusterObjects {
  readonly #namespaces: Informer<Namespace>;
  readonly #services: ServicesByLabels;
  readonly #replicationControllers: Informer<ReplicationController>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #statefulSets: Informer<StatefulSet>;
  readonly #budgets: Informer<PodDisruptionBudget>;
  #budgetList: readonly Budget[] | undefined;

  readonly storage: LiveStorage;

  constructor(informers: InformerFactory, dialect: Dialect) {
    this.storage = new LiveStorage(informers, dialect);
    this.#namespaces = informers.informer(namespaces);
    this.#services = new ServicesByLabels(informers.informer(services));
    this.#replicationControllers = informers.informer(replicationcontrollers);
    this.#replicaSets = informers.informer(replicasets);
    this.#statefulSets = informers.informer(statefulsets);
    this.#budgets = informers.informer(poddisruptionbudgets);
  }

  budgets(): readonly Budget[] {
    this.#budgetList ??= this.#list();
    return this.#budgetList;
  }

  #list(): Budget[] {
    return this.#budgets.list().flatMap(({ metadata, spec, status }) => {
      const selector = compileSelector(spec?.selector);
      if (selector === undefined || selector.isEverything) return [];
      return [
        {
          key: keyFor(metadata.namespace, metadata.name ?? ''),
          allowed: status?.disruptionsAllowed ?? 0,
          covers: ({ labels, namespace, pod }: PodInfo) =>
            namespace === metadata.namespace &&
            selector.matches(labels) &&
            status?.disruptedPods?.[pod.metadata.name ?? ''] === undefined,
        },
      ];
    });
  }

  /** Follows changes until the returned function is called; calls `newLabels` when a namespace's labels change. */
  follow(newLabels: () => void): () => void {
    const forget = () => {
      this.#budgetList = undefined;
    };
    const budgets = this.#budgets.addHandler({ onAdd: forget, onUpdate: forget, onDelete: forget });
    const namespaces = this.#namespaces.addHandler({
      onUpdate: ({ metadata }, old) => {
        if (differ(metadata.labels, old.metadata.labels)) newLabels();
      },
      onAdd: () => newLabels(),
    });
    return () => {
      budgets();
      namespaces();
    };
  }

  namespaceLabels = (namespace: string): Readonly<Record<string, string>> | undefined =>
    this.#namespaces.get(namespace)?.metadata.labels;

  /** Merges selectors as release 1.24: service selectors override each other, then the controller's selector is added. */
  spreadSelector(pod: Pod): LabelSelector {
    const { namespace = '', ownerReferences } = pod.metadata;
    const merged: Record<string, string> = {};
    for (const { spec } of this.#services.selecting(pod)) Object.assign(merged, spec.selector);
    const owner = ownerReferences?.find(({ controller }) => controller === true);
    const key = keyFor(namespace, owner?.name ?? '');
    switch (owner?.kind) {
      case 'ReplicationController':
        return selectorFromLabels({ ...merged, ...this.#replicationControllers.get(key)?.spec?.selector });
      case 'ReplicaSet':
        return joinSelectors(merged, this.#replicaSets.get(key)?.spec?.selector);
      case 'StatefulSet':
        return joinSelectors(merged, this.#statefulSets.get(key)?.spec?.selector);
      default:
        return selectorFromLabels(merged);
    }
  }
}

function joinSelectors(
  labels: Readonly<Record<string, string>>,
  object: Parameters<typeof compileSelector>[0],
): LabelSelector {
  const second = object === undefined ? undefined : compileSelector(object);
  const first = selectorFromLabels(labels);
  return second === undefined ? first : new LabelSelector([...first.requirements, ...second.requirements]);
}
