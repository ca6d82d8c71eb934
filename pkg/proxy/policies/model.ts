/** Allowances of network policies, independent of the backend. */
import type { IPBlock } from '#apimachinery/net/ip.js';
import type { RuleState } from '#proxy/loop/rule-loop.js';
import type { Selection } from '#proxy/policies/selection.js';
import type { Family } from '#proxy/services/proxy-settings.js';

export type Direction = 'ingress' | 'egress';
export const directions: readonly Direction[] = ['ingress', 'egress'];

/** The remote end. */
export type Peer =
  | { readonly block: IPBlock /** Of the block's family. */; readonly except: readonly IPBlock[] }
  | { readonly selection: Selection };

export interface PortRange {
  /** `tcp`, `udp` or `sctp`. */
  readonly transport: string;
  /** Undefined: all ports. */
  readonly numbers: { readonly first: number; readonly last: number } | undefined;
}

/** Allows packets that match both peer and ports. */
export interface Allowance {
  /** Undefined: any peer. */
  readonly peer: Peer | undefined;
  /** Undefined: any port, or the named port of the peer's selection. */
  readonly ports: PortRange | undefined;
}

/** An address belongs to a selection. */
export interface Membership {
  readonly selection: Selection;
  readonly family: Family;
  readonly address: string;
  /** The pod's number of the selection's named port. */
  readonly port: { readonly transport: string; readonly number: number } | undefined;
}

/** How policies concern one pod. */
export interface PodPlan {
  readonly addresses: readonly { readonly family: Family; readonly address: string }[];
  readonly memberships: readonly Membership[];
  /** Allowances of each policy, by direction; a direction without policies is absent and unrestricted. */
  readonly isolated: Readonly<Partial<Record<Direction, readonly (readonly Allowance[])[]>>>;
}

export interface PolicyTable<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** All selections that policies use, before the plans that use them. */
  select(selections: readonly Selection[]): void;
  /** Replaces a pod's rules; undefined removes them. */
  contribute(pod: string, plan: PodPlan | undefined): void;
}
