/** A table of nftables as data. Texts are in the language of nft(8); what the kernel lists is compared with them. */

/** A set or a map. */
export interface NftSet {
  readonly name: string;
  readonly kind: 'set' | 'map';
  /** `type ipv4_addr . inet_service : verdict; flags interval;` */
  readonly declaration: string;
  /** Packets add elements, which are therefore not compared. */
  readonly isDynamic?: boolean;
}

export interface NftChain {
  readonly name: string;
  /** Of chains that packets come to by themselves: `type nat hook output priority -100;`. */
  readonly hook?: string;
  /** Each is one rule. */
  readonly rules: readonly string[];
}

/** An element of a set or, with data, of a map. */
export interface NftElement {
  readonly set: string;
  /** `10.96.0.1 . tcp . 80`, with addresses in their canonical form. */
  readonly key: string;
  /** Empty in sets. */
  readonly data: string;
}

/** What one owner, such as a service, adds to a table. Chains and sets of the same name are the same for all owners. */
export interface Contribution {
  readonly elements: readonly NftElement[];
  readonly chains: readonly NftChain[];
  readonly sets?: readonly NftSet[];
}

/** What is in a table always. */
export interface TableFrame {
  /** Of the family `inet`. */
  readonly name: string;
  readonly sets: readonly NftSet[];
  readonly chains: readonly NftChain[];
  /** Tables of another version are made anew: rules are not compared word by word. */
  readonly version: string;
}

/** Name of the empty chain that tells a table's version. */
export function versionChain({ version }: TableFrame): string {
  return `version-${version}`;
}
