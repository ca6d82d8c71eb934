/** What a test tells the program that serves and asks within a network namespace, a line of JSON each, and what it answers. */

export type Protocol = 'TCP' | 'UDP';

export interface Target {
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
}

/** Serve at these ports, of both families, and answer with the name and the client's address. */
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

/** From now on ask again and again, each target beside the others, until `report` ends it. */
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
  /** Milliseconds since the epoch when it was asked. */
  readonly at: number;
  readonly why: string;
}

export interface Report {
  /** How often each has answered, by name. */
  readonly answers: Readonly<Record<string, number>>;
  /** Addresses that servers saw. */
  readonly clients: readonly string[];
  readonly failures: readonly Failure[];
}
