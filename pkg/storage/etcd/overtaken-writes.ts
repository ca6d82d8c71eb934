/**
 * Detects writes that may be lost by a change of etcd's leader. If a leader stops before it has replicated a forwarded
 * write, no member has it any more, and the forwarding member waits seven seconds, although a new leader accepts writes
 * after one or two. A slow write is therefore abandoned soon after a new leader is elected: its outcome is unknown, and
 * the caller can try again.
 */
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { StoreError } from '#storage/store.js';

/** A member's view of the leader; a term has at most one. */
export interface LeaderState {
  readonly term: number;
  /** False during an election. */
  readonly isThere: boolean;
}

export interface OvertakenWritesOptions<Endpoint> {
  readonly clock: Clock;
  /** Undefined if the member does not answer. */
  readonly readLeader: (endpoint: Endpoint) => Promise<LeaderState | undefined>;
}

interface Write<Endpoint> {
  readonly endpoint: Endpoint;
  /** Term in which the write was sent. */
  readonly term: number;
  readonly sentAtMs: number;
  /** Time at which a later leader was first seen. */
  overtakenAtMs: number | undefined;
  readonly abandoned: Deferred<never>;
}

const checkMs = 250;
/** Faster writes are not examined. */
const minSlowMs = 500;
/** A new leader completes writes that it has within this time. */
const settledMs = 300;

export class OvertakenWrites<Endpoint> {
  readonly #options: OvertakenWritesOptions<Endpoint>;
  /** Writes in the order of sending. */
  readonly #writes = new Set<Write<Endpoint>>();
  #timer: Timer | undefined;

  constructor(options: OvertakenWritesOptions<Endpoint>) {
    this.#options = options;
  }

  /** Settles like `answer`, or rejects with a StoreError (timeout) once the write is abandoned. */
  async watch<T>(endpoint: Endpoint, term: number, answer: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const write = {
      endpoint,
      term,
      sentAtMs: clock.monotonic(),
      overtakenAtMs: undefined,
      abandoned: deferred<never>(),
    };
    this.#writes.add(write);
    this.#timer ??= clock.setTimer(() => void this.#check(), checkMs);
    try {
      return await Promise.race([answer, write.abandoned.promise]);
    } finally {
      this.#writes.delete(write);
    }
  }

  async #check(): Promise<void> {
    const { clock } = this.#options;
    const slow: Write<Endpoint>[] = [];
    for (const write of this.#writes) {
      if (clock.monotonic() - write.sentAtMs < minSlowMs) break;
      slow.push(write);
    }
    const endpoints = [...new Set(slow.map(({ endpoint }) => endpoint))];
    await Promise.all(endpoints.map((endpoint) => this.#examine(endpoint, slow)));
    this.#timer = this.#writes.size === 0 ? undefined : clock.setTimer(() => void this.#check(), checkMs);
  }

  async #examine(endpoint: Endpoint, slow: readonly Write<Endpoint>[]): Promise<void> {
    const { clock, readLeader: askLeader } = this.#options;
    const leader = await askLeader(endpoint);
    if (leader === undefined) return;
    const nowMs = clock.monotonic();
    for (const write of slow) {
      if (write.endpoint !== endpoint || !isOvertaken(write, leader)) continue;
      write.overtakenAtMs ??= nowMs;
      if (nowMs - write.overtakenAtMs >= settledMs)
        write.abandoned.reject(new StoreError('timeout', 'etcd has a new leader, which may not have the write'));
    }
  }
}

/** Whether a new leader was elected after the write was sent; term 0 is unknown. */
function isOvertaken({ term }: { readonly term: number }, leader: LeaderState): boolean {
  return term > 0 && leader.isThere && leader.term > term;
}
