/** Selectors of policies, by what they select: rules with the same one share a set of addresses. */
import { createHash } from 'node:crypto';
import type { LabelSelector as SelectorObject } from '#api/meta/v1/types.gen.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';

/** What selectors look at. */
export type Labels = Readonly<Record<string, string>>;

export interface SelectedPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly namespaceLabels: Labels;
}

export interface Selection {
  /** Twelve hexadecimal digits that tell it from others, in names of sets. */
  readonly id: string;
  readonly matches: (pod: SelectedPod) => boolean;
  /** Of egress rules: the port of the pods that is meant, where it has a name; its set is of addresses with ports. */
  readonly port: { readonly name: string; readonly protocol: string } | undefined;
}

export interface SelectionSource {
  readonly podSelector?: SelectorObject | undefined;
  readonly namespaceSelector?: SelectorObject | undefined;
  /** Of the policy. */
  readonly namespace: string;
  readonly port?: { readonly name: string; readonly protocol: string } | undefined;
}

/** Throws for selectors that are none. */
export function selectionOf({ namespace, namespaceSelector, podSelector, port }: SelectionSource): Selection {
  const text = JSON.stringify([namespaceSelector ?? namespace, podSelector ?? {}, port ?? null]);
  const pods = podSelector === undefined ? undefined : selectorFromObject(podSelector);
  const namespaces = namespaceSelector === undefined ? undefined : selectorFromObject(namespaceSelector);
  return {
    id: createHash('sha256').update(text).digest('hex').slice(0, 12),
    port,
    matches: (pod) =>
      (namespaces === undefined ? pod.namespace === namespace : namespaces.matches(pod.namespaceLabels)) &&
      (pods === undefined || pods.matches(pod.labels)),
  };
}
