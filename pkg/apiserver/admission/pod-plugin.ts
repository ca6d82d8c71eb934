/** Helpers of admission plugins for pods. */
import type { Container, Pod, PodSpec } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns } from '#apiserver/admission/plugin.js';

/** `resources` of plugins that only look at pods. */
export const podsOnly = [{ group: 'core', resource: 'pods' }] as const;

/** True for creations and updates of pods themselves, not of their subresources. */
export function writesPod(attributes: AdmissionAttributes): boolean {
  const { operation } = attributes;
  return concerns(attributes, 'core', 'pods') && (operation === 'CREATE' || operation === 'UPDATE');
}

/** The pod of the first pass. */
export function draftPod(attributes: MutableAttributes): Draft<Pod> {
  return attributes.object as Draft<Pod>;
}

/** The written pod. */
export function newPod({ object }: AdmissionAttributes): Pod {
  return object as Pod;
}

/** A container of any list, and its place: `spec.initContainers[0]`. */
export interface PlacedContainer {
  readonly container: Pick<Container, 'image' | 'imagePullPolicy'>;
  readonly path: string;
}

/** All containers, in 1.24's order. */
export function placedContainers(spec: PodSpec): readonly PlacedContainer[] {
  return (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, i) => ({ container, path: `spec.${list}[${i}]` })),
  );
}
