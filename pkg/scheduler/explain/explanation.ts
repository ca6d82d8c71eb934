/** The explanation of a scheduling decision, also the JSON format of the scheduler and orchctl. */

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export type Outcome =
  /** At least one node can take the pod now. */
  | 'Fits'
  /** No node can take it. */
  | 'FitsNowhere'
  /** An extender that the decision depends on fails. */
  | 'ExtenderFails'
  /** The pod already has a node. */
  | 'Bound'
  /** The pod names a node that does not exist. */
  | 'NodeMissing'
  /** No profile has the pod's scheduler name; another scheduler may place it. */
  | 'OtherScheduler'
  /** The pod has ended or is being deleted. */
  | 'Ended'
  /** The API server refuses to create it. */
  | 'NotAdmitted';

/** A resource, or the number of pods, that is short on the node. Amounts are quantities, as in resource lists. */
export interface Shortage {
  readonly resource: string;
  readonly requested: string;
  readonly free: string;
  /** The total available to pods. */
  readonly of: string;
}

export interface NodeRefusal {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
  readonly shortages?: readonly Shortage[];
  /** The plugin's finding on the node: the taint, the label, the pod that uses the port, the resulting skew. */
  readonly facts?: string;
  /** Whether evicting pods could help. */
  readonly resolvable: boolean;
}

/** Nodes with equal refusals. */
export interface RefusalGroup {
  readonly plugin: string;
  readonly reasons: readonly string[];
  readonly nodes: number;
  /** Names of some of the nodes. */
  readonly examples: readonly string[];
  /** Shortages of the node that lacks least, which is the first example. */
  readonly shortages?: readonly Shortage[];
  /** Facts of the same node. */
  readonly facts?: string;
}

export interface PluginScore {
  readonly plugin: string;
  readonly raw: number;
  /** 0 to 100. */
  readonly normalized: number;
  readonly weight: number;
  /** `normalized` times `weight`: the plugin's part of the total. */
  readonly weighted: number;
}

export interface NodeScores {
  readonly node: string;
  readonly total: number;
  readonly plugins: readonly PluginScore[];
}

/** An extender that is interested in the pod. */
export interface ExtenderReport {
  /** Its URL. */
  readonly extender: string;
  /** The points where the scheduler calls it: `filter`, `prioritize`, `preempt`, `bind`. */
  readonly points: readonly string[];
  /** The points called for this explanation; `refused` and `scores` include the answers. */
  readonly called: readonly string[];
  /** Why it failed. */
  readonly error?: string;
}

export interface VictimPod extends PodName {
  readonly priority: number;
}

export interface PreemptionCandidate {
  readonly node: string;
  readonly victims: readonly VictimPod[];
  /** Victims protected by disruption budgets: such nodes are chosen last. */
  readonly protected: number;
  /** Their budgets, as `namespace/name`. */
  readonly budgets: readonly string[];
}

export interface PreemptionReport {
  /** The chosen node; absent: evicting pods does not help. */
  readonly node?: string;
  /** Why not, as in the pod's condition. */
  readonly message?: string;
  /** Number of nodes tried. */
  readonly tried: number;
  readonly candidates: readonly PreemptionCandidate[];
  readonly refused: readonly RefusalGroup[];
}

/** One API call. `replace` deletes and recreates an object that cannot be changed in place. */
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
  /** The node that can then take the pod. */
  readonly node?: string;
  readonly changes: readonly Change[];
  /** Whether a new decision confirmed that the pod fits; false: only the API server can tell. */
  readonly checked: boolean;
}

export interface Explanation {
  readonly pod: PodName & { readonly schedulerName: string; readonly priority: number };
  readonly outcome: Outcome;
  /** As in the pod's condition and event. */
  readonly message: string;
  /** The pod's node, or the node it would get (one of the best). */
  readonly node?: string;
  readonly nodes: { readonly total: number; readonly fitting: number };
  readonly refused: readonly RefusalGroup[];
  /** The requested number of nodes, best first. */
  readonly scores: readonly NodeScores[];
  readonly preemption?: PreemptionReport;
  /** Absent: no extender is interested in the pod. */
  readonly extenders?: readonly ExtenderReport[];
  /** Smallest first. */
  readonly remedies: readonly Remedy[];
  /** The requested page of nodes. */
  readonly details?: {
    readonly items: readonly (NodeRefusal | { readonly node: string; readonly fits: true })[];
    /** Start of the next page; absent: this is the last one. */
    readonly continue?: string;
  };
}
