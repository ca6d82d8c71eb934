/** Compiled terms of inter-pod affinity, with the semantics of release 1.24. */
import type { Pod, PodAffinityTerm } from '#api/core/v1/types.gen.js';
import { compileSelector, type LabelSelector, selectorFromObject } from '#apimachinery/selectors/labels.js';

type Labels = Readonly<Record<string, string>>;

/** Labels of a namespace; undefined if the namespace is not in the cache. */
export type NamespaceLabels = (namespace: string) => Labels | undefined;

/** The part of a pod that a term matches. */
export interface LabelledPod {
  readonly namespace: string;
  readonly labels: Labels;
}

export interface AffinityTerm {
  /** Equal for terms that match the same pods in the same domains. */
  readonly key: string;
  readonly topologyKey: string;
  matches(pod: LabelledPod, namespaceLabels: NamespaceLabels): boolean;
}

export interface WeightedTerm {
  readonly term: AffinityTerm;
  /** Negative for anti-affinity. */
  readonly weight: number;
}

/** The terms of one pod. */
export interface PodTerms {
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  /** Affinity and anti-affinity. */
  readonly preferred: readonly WeightedTerm[];
}

const noTerms: PodTerms = { requiredAffinity: [], requiredAntiAffinity: [], preferred: [] };

export function podTerms(pod: Pod): PodTerms {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined) return noTerms;
  const namespace = pod.metadata.namespace ?? '';
  const required = (terms: readonly PodAffinityTerm[] | undefined) =>
    (terms ?? []).map((term) => affinityTerm(term, namespace));
  const preferred = (affinity: typeof podAffinity, sign: 1 | -1): WeightedTerm[] =>
    (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm, weight }) => ({
      term: affinityTerm(podAffinityTerm, namespace),
      weight: sign * weight,
    }));
  return {
    requiredAffinity: required(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAntiAffinity: required(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferred: [...preferred(podAffinity, 1), ...preferred(podAntiAffinity, -1)],
  };
}

/** A term without namespaces and namespace selector applies to the pod's own namespace. */
function affinityTerm(source: PodAffinityTerm, ownNamespace: string): AffinityTerm {
  const { labelSelector, namespaceSelector, topologyKey } = source;
  const namespaceNames = source.namespaces ?? [];
  const namespaces = new Set(
    namespaceNames.length === 0 && namespaceSelector === undefined ? [ownNamespace] : namespaceNames,
  );
  const selector = compileSelector(labelSelector) ?? selectorFromObject(undefined);
  const ofNamespaces: LabelSelector = compileSelector(namespaceSelector) ?? selectorFromObject(undefined);
  return {
    key: JSON.stringify([topologyKey, [...namespaces].sort(), namespaceSelector, labelSelector]),
    topologyKey,
    matches({ namespace, labels }, namespaceLabels) {
      const inNamespace =
        namespaces.has(namespace) ||
        (!ofNamespaces.isNothing && ofNamespaces.matches(namespaceLabels(namespace) ?? {}));
      return inNamespace && selector.matches(labels);
    },
  };
}
