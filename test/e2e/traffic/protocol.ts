/** Orders of a test to the probe in a network namespace, and its reports: one line of JSON each. */

export type Protocol = 'TCP' | 'UDP';

export interface Target {
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
}

/** Serve on these ports, of both families, and answer with the name and the client's address. */
export interface ServeOrder {
  readonly kind: 'serve';
  readonly name: string;
  readonly tcp: readonly number[];
  readonly udp: readonly number[];
}

/** Ask until every one of `expect` has answered, and `least` times, but at most `tries` times. */
export interface AskOrder {
  readonly kind: 'ask';
  readonly target: Target;
  readonly expect: readonly string[];
  readonly least: number;
  readonly tries: number;
  readonly timeoutMs: number;
}

/** Ask all targets repeatedly and in parallel until `report` ends it. */
export interface KeepAskingOrder {
  readonly kind: 'keep-asking';
  readonly targets: readonly Target[];
  readonly pauseMs: number;
  readonly timeoutMs: number;
}

export interface ReportOrder {
  readonly kind: 'report';
}

export type Order = ServeOrder | AskOrder | KeepAskingOrder | ReportOrder;

export interface Failure {
  readonly target: Target;
  /** Time of the request; milliseconds since the epoch. */
  readonly at: number;
  readonly why: string;
}

export interface Report {
  /** Number of answers, by server name. */
  readonly answers: Readonly<Record<string, number>>;
  /** Addresses that servers saw. */
  readonly clients: readonly string[];
  readonly failures: readonly Failure[];
}
