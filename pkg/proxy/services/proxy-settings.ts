/** Settings and node data that service rules depend on. */
export type Family = 'IPv4' | 'IPv6';
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
export const families: readonly Family[] = ['IPv4', 'IPv6'];

/** The node, or several nodes on one machine, that share this network. */
export interface NodeView {
  readonly names: ReadonlySet<string>;
  /** Undefined: unknown or none. */
  readonly zone: string | undefined;
}

/** Settings common to all services. */
export interface ProxySettings {
  /** Table name. */
  readonly table: string;
  /** Pod address range; without one, a family's traffic is not masqueraded by source. */
  readonly clusterCIDRs: Readonly<Partial<Record<Family, string>>>;
  /** Bit 0 to 31 of the packet mark that selects packets for masquerading. */
  readonly masqueradeBit: number;
  /** Masquerade all traffic to cluster addresses. */
  readonly masqueradeAll: boolean;
  /** Addresses with open node ports; empty: all of the node's. */
  readonly nodePortAddresses: readonly string[];
  /** Cluster addresses are routed only for pods and the node: other clusters on the machine may use the same. */
  readonly isClusterIPInternal: boolean;
  /** Replies between pods of one bridge bypass the packet filter, so they must be sent through the node. */
  readonly isBridgeUnfiltered: boolean;
}
