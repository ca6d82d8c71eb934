/** A cluster as plain objects, for the slow reference rules that the scheduler's are compared with. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';

export interface Refused {
  readonly plugin: string;
  readonly reasons: readonly string[];
}

export interface Model {
  readonly nodes: readonly Node[];
  /** Placed pods. */
  readonly pods: readonly Pod[];
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly storage: StorageObjects;
  spreadSelector(pod: Pod): LabelSelector;
}

export const nameOf = (node: Node): string => node.metadata.name ?? '';
export const labelsOf = (object: Node | Pod): Readonly<Record<string, string>> => object.metadata.labels ?? {};
export const podsOn = (model: Model, node: Node): Pod[] =>
  model.pods.filter((pod) => pod.spec.nodeName === nameOf(node));
export const nodeOf = (model: Model, pod: Pod): Node | undefined =>
  model.nodes.find((node) => nameOf(node) === pod.spec.nodeName);
