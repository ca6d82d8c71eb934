/** What policies let through, whatever the program that sees to it. */
import type { IPBlock } from '#apimachinery/net/ip.js';
import type { RuleState } from '#proxy/loop/rule-loop.js';
import type { Selection } from '#proxy/policies/selection.js';
import type { Family } from '#proxy/services/proxy-settings.js';

export type Direction = 'ingress' | 'egress';
export const directions: readonly Direction[] = ['ingress', 'egress'];

/** Who is at the other end. */
export type Peer =
  | { readonly block: IPBlock /** Of the block's family. */; readonly except: readonly IPBlock[] }
  | { readonly selection: Selection };

export interface PortRange {
  /** `tcp`, `udp` or `sctp`. */
  readonly transport: string;
  /** Undefined: all ports of the protocol. */
  readonly numbers: { readonly first: number; readonly last: number } | undefined;
}

/** Packets pass that match both. */
export interface Allowance {
  /** Undefined: everybody. */
  readonly peer: Peer | undefined;
  /** Undefined: every port of every protocol, or the one that the peer's selection names. */
  readonly ports: PortRange | undefined;
}

/** That an address is one of those that a selection selects. */
export interface Membership {
  readonly selection: Selection;
  readonly family: Family;
  readonly address: string;
  /** Where the selection is about a port: the one that this pod has under its name. */
  readonly port: { readonly transport: string; readonly number: number } | undefined;
}

/** What one pod has to do with policies. */
export interface PodPlan {
  readonly addresses: readonly { readonly family: Family; readonly address: string }[];
  readonly memberships: readonly Membership[];
  /** What each of its policies lets through; a direction that none is about is missing: there everything may pass. */
  readonly isolated: Readonly<Partial<Record<Direction, readonly (readonly Allowance[])[]>>>;
}

/** The kernel's rules of network policies, whatever the program by which they are made. */

export interface PolicyTable<Listing, Commands> {
  readonly state: RuleState<Listing, Commands>;
  /** Those that policies name, each once; before the plans that name them. */
  select(selections: readonly Selection[]): void;
  /** Replaces the rules of a pod, by its key; undefined takes them away. */
  contribute(pod: string, plan: PodPlan | undefined): void;
}
