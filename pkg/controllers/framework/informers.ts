/** The caches that all controllers share, one per resource, and their indexes. */
import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { type LabelSelectorObject, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { ApiObject } from '#client/client.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { controllerOf } from '#controllers/framework/owners.js';

/**
 * The shared cache of a resource. It takes no transform, so that all controllers get the same cache; the factory's
 * transform drops unread fields.
 */
export function sharedInformer<T extends ApiObject>(informers: InformerFactory, type: ResourceType<T>): Informer<T> {
  return informers.informer<T>(type);
}

/** Index by the UID of the managing owner. */
const controllerIndex = 'controllerUID';
/** Index by namespace of objects without a managing owner. */
const orphanIndex = 'orphansOfNamespace';

/** Index of pods by their node; unbound pods have the empty name. */
const nodeIndex = 'nodeName';

export function indexByNode(pods: Informer<Pod>): void {
  pods.addIndexers({ [nodeIndex]: (pod) => [pod.spec.nodeName ?? ''] });
}

export function podsOfNode(pods: Informer<Pod>, node: string): Pod[] {
  return pods.byIndex(nodeIndex, node);
}

/** Index of pods by the claims of their volumes, including claims of ephemeral volumes. */
const claimIndex = 'claim';

export function indexByClaim(pods: Informer<Pod>): void {
  pods.addIndexers({
    [claimIndex]: (pod) => claimNamesOf(pod).map((name) => keyFor(pod.metadata.namespace, name)),
  });
}

/** Pods that name the claim. For ephemeral volumes only the name is compared. */
export function podsOfClaim(pods: Informer<Pod>, claim: string): Pod[] {
  return pods.byIndex(claimIndex, claim);
}

/** Index of objects by namespace and label. */
const labelIndex = 'label';

function labelKey(namespace: string, label: string, value: string): string {
  return `${namespace}/${label}=${value}`;
}

export function indexByLabel<T extends ApiObject>(informer: Informer<T>): void {
  informer.addIndexers({
    [labelIndex]: ({ metadata: { namespace = '', labels = {} } }) =>
      Object.entries(labels).map(([label, value]) => labelKey(namespace, label, value)),
  });
}

/** Objects that the selector matches; needs `indexByLabel`. Throws as `selectorFromObject` does. */
export function selectedFrom<T extends ApiObject>(
  informer: Informer<T>,
  namespace: string,
  selector: LabelSelectorObject | undefined,
): T[] {
  const compiled = selectorFromObject(selector);
  return withFirstLabel(informer, namespace, selector?.matchLabels).filter(({ metadata }) =>
    compiled.matches(metadata.labels),
  );
}

/** Objects with the first of the labels, or all in the namespace without labels; needs `indexByLabel`. */
export function withFirstLabel<T extends ApiObject>(
  informer: Informer<T>,
  namespace: string,
  labels: Readonly<Record<string, string>> = {},
): T[] {
  const [first] = Object.entries(labels);
  return first === undefined ? informer.list(namespace) : informer.byIndex(labelIndex, labelKey(namespace, ...first));
}

export function indexByController<T extends ApiObject>(informer: Informer<T>): void {
  informer.addIndexers({
    [controllerIndex]: (object) => {
      const uid = controllerOf(object)?.uid;
      return uid === undefined ? [] : [uid];
    },
    [orphanIndex]: (object) => (controllerOf(object) === undefined ? [object.metadata.namespace ?? ''] : []),
  });
}

/** Objects that the owner manages, and orphans in its namespace, which it may adopt. */
export function ownedOrOrphaned<T extends ApiObject>(informer: Informer<T>, owner: ApiObject): T[] {
  return [
    ...informer.byIndex(controllerIndex, owner.metadata.uid ?? ''),
    ...informer.byIndex(orphanIndex, owner.metadata.namespace ?? ''),
  ];
}

export function ownedBy<T extends ApiObject>(informer: Informer<T>, uid: string): T[] {
  return informer.byIndex(controllerIndex, uid);
}
