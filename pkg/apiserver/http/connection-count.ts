/** Is told of the connections of one of several fronts of a server. */
export interface ConnectionCount {
  /** Connections are accepted from now on. */
  listening(): void;
  opened(): void;
  closed(): void;
}
