/** What the rules of services depend on, besides the services. */
export type Family = 'IPv4' | 'IPv6';
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
export const families: readonly Family[] = ['IPv4', 'IPv6'];

/** The node whose network this is; on one machine several nodes may share it. */
export interface NodeView {
  readonly names: ReadonlySet<string>;
  /** Undefined: not known, or in none. */
  readonly zone: string | undefined;
}

/** What is the same for all services. */
export interface ProxySettings {
  /** Of the table. */
  readonly table: string;
  /** Where pods of the cluster are; a family without one is not masqueraded by its source. */
  readonly clusterCIDRs: Readonly<Partial<Record<Family, string>>>;
  /** Bit 0 to 31 of the mark that packets have which are to be masqueraded. */
  readonly masqueradeBit: number;
  /** Traffic to cluster addresses gets the node's address, too, whoever sends it. */
  readonly masqueradeAll: boolean;
  /** Where node ports are open; empty: at all addresses of the node. */
  readonly nodePortAddresses: readonly string[];
  /** Cluster addresses lead on from pods and the node only: other clusters on the machine may have the same. */
  readonly isClusterIPInternal: boolean;
  /** Answers between pods of one bridge do not pass the packet filter: they have to go by way of the node. */
  readonly isBridgeUnfiltered: boolean;
}
