/** What an explanation says; the same as JSON from the scheduler and from orchctl. */

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export type Outcome =
  /** Nodes can take the pod now. */
  | 'Fits'
  /** No node can take it. */
  | 'FitsNowhere'
  /** An extender that the decision needs gives no answer. */
  | 'ExtenderFails'
  /** It has a node already. */
  | 'Bound'
  /** It names a node that does not exist. */
  | 'NodeMissing'
  /** No profile has its scheduler name: another scheduler may place it, or nobody. */
  | 'OtherScheduler'
  /** It has ended or is being deleted. */
  | 'Ended'
  /** The API server refuses to create it. */
  | 'NotAdmitted';

/** Of a resource or another thing that is counted. CPU in cores (`100m`), memory in bytes, as in resource lists. */
export interface Shortage {
  readonly resource: string;
  readonly asked: string;
  readonly free: string;
  /** All that pods may use. */
  readonly of: string;
}

export interface NodeRefusal {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
  readonly shortages?: readonly Shortage[];
  /** What the plugin found there: the taint, the label, the pod that has the port, how uneven it would be. */
  readonly facts?: string;
  /** Evicting pods could help. */
  readonly resolvable: boolean;
}

/** Nodes that say the same. */
export interface RefusalGroup {
  readonly plugin: string;
  readonly reasons: readonly string[];
  readonly nodes: number;
  /** Some of them. */
  readonly examples: readonly string[];
  /** Of the node that lacks least, which is the first of the examples. */
  readonly shortages?: readonly Shortage[];
  /** Of the same node. */
  readonly facts?: string;
}

export interface PluginScore {
  readonly plugin: string;
  readonly raw: number;
  /** 0 to 100. */
  readonly normalized: number;
  readonly weight: number;
  /** What counts: `normalized` times `weight`. */
  readonly weighted: number;
}

export interface NodeScores {
  readonly node: string;
  readonly total: number;
  readonly plugins: readonly PluginScore[];
}

/** An extender that has a say about the pod. */
export interface ExtenderReport {
  /** Where it is. */
  readonly extender: string;
  /** At which points the scheduler asks it: `filter`, `prioritize`, `preempt`, `bind`. */
  readonly points: readonly string[];
  /** At which it was asked for this explanation; its word counts in `refused` and `scores`. */
  readonly asked: readonly string[];
  /** What went wrong. */
  readonly error?: string;
}

export interface VictimPod extends PodName {
  readonly priority: number;
}

export interface PreemptionCandidate {
  readonly node: string;
  readonly victims: readonly VictimPod[];
  /** Victims that disruption budgets protect: such nodes are taken last. */
  readonly protected: number;
  /** Those budgets, as `namespace/name`. */
  readonly budgets: readonly string[];
}

export interface PreemptionReport {
  /** The node that would be taken; absent: evicting does not help. */
  readonly node?: string;
  /** Why not, in the words of the pod's condition. */
  readonly message?: string;
  /** Nodes that were tried. */
  readonly tried: number;
  readonly candidates: readonly PreemptionCandidate[];
  readonly refused: readonly RefusalGroup[];
}

/** One call of the API. A `replace` deletes the object and creates it anew, since it cannot be changed in place. */
export type Change =
  | {
      readonly action: 'patch';
      readonly apiVersion: string;
      readonly kind: string;
      readonly namespace?: string;
      readonly name: string;
      /** A JSON merge patch. */
      readonly patch: object;
    }
  | { readonly action: 'create' | 'replace'; readonly object: object }
  | {
      readonly action: 'delete';
      readonly apiVersion: string;
      readonly kind: string;
      readonly namespace?: string;
      readonly name: string;
    };

export interface Remedy {
  readonly text: string;
  /** The node that can take the pod then. */
  readonly node?: string;
  readonly changes: readonly Change[];
  /** True: with these changes the scheduler's own code found room. False: nothing but the server can tell. */
  readonly checked: boolean;
}

export interface Explanation {
  readonly pod: PodName & { readonly schedulerName: string; readonly priority: number };
  readonly outcome: Outcome;
  /** As in the pod's condition and event. */
  readonly message: string;
  /** The node that it has, or would get; among equals one of them. */
  readonly node?: string;
  readonly nodes: { readonly total: number; readonly fitting: number };
  readonly refused: readonly RefusalGroup[];
  /** The best first, as many as were asked for. */
  readonly scores: readonly NodeScores[];
  readonly preemption?: PreemptionReport;
  /** Absent where none is interested in the pod. */
  readonly extenders?: readonly ExtenderReport[];
  /** The smallest first. */
  readonly remedies: readonly Remedy[];
  /** Node by node, as asked for. */
  readonly details?: {
    readonly items: readonly (NodeRefusal | { readonly node: string; readonly fits: true })[];
    /** Where to go on; absent: that is all. */
    readonly continue?: string;
  };
}
