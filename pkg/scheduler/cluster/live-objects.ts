import { replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet, StatefulSet } from '#api/apps/v1/types.gen.js';
import { namespaces, replicationcontrollers, services } from '#api/core/v1/resources.gen.js';
import type { Namespace, Pod, ReplicationController, Service } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import { compileSelector, LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { differ } from '#scheduler/cluster/events.js';
import type { ClusterObjects } from '#scheduler/cluster/objects.js';

/** What plugins read of other objects, from informers. */
export class LiveObjects implements ClusterObjects {
  readonly #namespaces: Informer<Namespace>;
  readonly #services: Informer<Service>;
  readonly #replicationControllers: Informer<ReplicationController>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #statefulSets: Informer<StatefulSet>;

  constructor(informers: InformerFactory) {
    this.#namespaces = informers.informer(namespaces);
    this.#services = informers.informer(services);
    this.#replicationControllers = informers.informer(replicationcontrollers);
    this.#replicaSets = informers.informer(replicasets);
    this.#statefulSets = informers.informer(statefulsets);
    this.#services.addIndexers({ schedulerNamespace: ({ metadata }) => [metadata.namespace ?? ''] });
  }

  /** Calls when a namespace gets other labels, until the function that it returns. */
  onNamespaceLabels(changed: () => void): () => void {
    return this.#namespaces.addHandler({
      onUpdate: ({ metadata }, old) => {
        if (differ(metadata.labels, old.metadata.labels)) changed();
      },
      onAdd: () => changed(),
    });
  }

  namespaceLabels = (namespace: string): Readonly<Record<string, string>> | undefined =>
    this.#namespaces.get(namespace)?.metadata.labels;

  /** As release 1.24 merges them: the selectors of services one over the other, then the controller's besides. */
  spreadSelector({ metadata: { labels = {}, namespace = '', ownerReferences } }: Pod): LabelSelector {
    const merged: Record<string, string> = {};
    for (const { spec } of this.#services.byIndex('schedulerNamespace', namespace)) {
      const { selector } = spec ?? {};
      if (selector !== undefined && selectorFromLabels(selector).matches(labels)) Object.assign(merged, selector);
    }
    const owner = ownerReferences?.find(({ controller }) => controller === true);
    const key = keyFor(namespace, owner?.name ?? '');
    switch (owner?.kind) {
      case 'ReplicationController':
        return selectorFromLabels({ ...merged, ...this.#replicationControllers.get(key)?.spec?.selector });
      case 'ReplicaSet':
        return joined(merged, this.#replicaSets.get(key)?.spec?.selector);
      case 'StatefulSet':
        return joined(merged, this.#statefulSets.get(key)?.spec?.selector);
      default:
        return selectorFromLabels(merged);
    }
  }
}

function joined(
  labels: Readonly<Record<string, string>>,
  object: Parameters<typeof compileSelector>[0],
): LabelSelector {
  const other = object === undefined ? undefined : compileSelector(object);
  const own = selectorFromLabels(labels);
  return other === undefined ? own : new LabelSelector([...own.requirements, ...other.requirements]);
}
