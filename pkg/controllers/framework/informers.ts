/** The caches that all controllers share: one per resource, without the fields that no controller reads. */
import { claimNamesOf } from '#api/core/v1/pod/claims.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { type LabelSelectorObject, selectorFromObject } from '#apimachinery/selectors/labels.js';
import type { ApiObject } from '#client/client.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import { controllerOf } from '#controllers/framework/owners.js';

/**
 * The shared cache of a resource. It takes no transform, so that all controllers get the same cache; the transform that
 * drops unread fields is set once, on the factory.
 */
export function sharedInformer<T extends ApiObject>(informers: InformerFactory, type: ResourceType<T>): Informer<T> {
  return informers.informer<T>(type);
}

/** Index by the UID of the managing owner; see `byController`. */
const controllerIndex = 'controllerUID';
/** Index of the objects of a namespace that have no managing owner. */
const orphanIndex = 'orphansOfNamespace';

/** Index of pods by the node that they are bound to; the empty name has the unbound ones. */
const nodeIndex = 'nodeName';

export function indexByNode(pods: Informer<Pod>): void {
  pods.addIndexers({ [nodeIndex]: (pod) => [pod.spec.nodeName ?? ''] });
}

export function podsOfNode(pods: Informer<Pod>, node: string): Pod[] {
  return pods.byIndex(nodeIndex, node);
}

/** Index of pods by the keys of the claims of their volumes, those of ephemeral volumes included. */
const claimIndex = 'claim';

export function indexByClaim(pods: Informer<Pod>): void {
  pods.addIndexers({
    [claimIndex]: (pod) => claimNamesOf(pod).map((name) => keyFor(pod.metadata.namespace, name)),
  });
}

/** Pods that name the claim with that key. Of ephemeral volumes only the name is compared. */
export function podsOfClaim(pods: Informer<Pod>, claim: string): Pod[] {
  return pods.byIndex(claimIndex, claim);
}

/** Index of objects by each of their labels within their namespace. */
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

/** Objects of an informer with that index that the selector matches. Throws as `selectorFromObject` does. */
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

/** Objects of an informer with that index that have the first of the labels; without labels all of the namespace. */
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

/** The objects that the owner manages, and those in its namespace that have no managing owner, which it may adopt. */
export function ownedOrOrphaned<T extends ApiObject>(informer: Informer<T>, owner: ApiObject): T[] {
  return [
    ...informer.byIndex(controllerIndex, owner.metadata.uid ?? ''),
    ...informer.byIndex(orphanIndex, owner.metadata.namespace ?? ''),
  ];
}

export function ownedBy<T extends ApiObject>(informer: Informer<T>, uid: string): T[] {
  return informer.byIndex(controllerIndex, uid);
}
