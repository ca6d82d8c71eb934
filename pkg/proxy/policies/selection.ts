/** Selections of pods by policies; rules with equal selectors share a set of addresses. */
import { createHash } from 'node:crypto';
import type { LabelSelector as SelectorObject } from '#api/meta/v1/types.gen.js';
import { selectorFromObject } from '#apimachinery/selectors/labels.js';

export type Labels = Readonly<Record<string, string>>;

export interface SelectedPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly namespaceLabels: Labels;
}

export interface Selection {
  /** Twelve hexadecimal digits, used in set names. */
  readonly id: string;
  readonly matches: (pod: SelectedPod) => boolean;
  /** For egress rules with a port name: the set contains addresses with ports. */
  readonly port: { readonly name: string; readonly protocol: string } | undefined;
}

export interface SelectionSource {
  readonly podSelector?: SelectorObject | undefined;
  readonly namespaceSelector?: SelectorObject | undefined;
  /** Namespace of the policy. */
  readonly namespace: string;
  readonly port?: { readonly name: string; readonly protocol: string } | undefined;
}

/** Throws for invalid selectors. */
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
