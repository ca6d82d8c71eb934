/** Opens a connection in another way than directly, such as through a proxy. */
import type { Duplex } from 'node:stream';

export interface DialTarget {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Resolves with a stream to the target, without TLS of the target's. Rejects if it cannot be reached in time. */
export type Dial = (target: DialTarget) => Promise<Duplex>;
