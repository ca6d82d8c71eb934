/** The kernel's rules of network policies, whatever the program by which they are made. */
import type { RuleState } from '#proxy/loop/rule-loop.js';
import type { PodPlan } from '#proxy/policies/model.js';
import type { Selection } from '#proxy/policies/selection.js';

export interface PolicyTable<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** Those that policies name, each once; before the plans that name them. */
  select(selections: readonly Selection[]): void;
  /** Replaces the rules of a pod, by its key; undefined takes them away. */
  contribute(pod: string, plan: PodPlan | undefined): void;
}
