/**
 * Writes that a change of etcd's leader may have lost. A member passes a write on to the leader; when that is gone before it
 * has told the others, nobody has the write any more, and the member waits for it until its own limit of seven seconds,
 * though another leader takes writes after one or two. So a write that takes long is given up soon after there is another
 * leader: what has become of it is unknown, and who asked for it can try again.
 */
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { StoreError } from '#storage/store.js';

/** The leader that a member knows, and its term; a term has one leader at most. */
export interface KnownLeader {
  readonly term: number;
  /** False while a leader is being chosen. */
  readonly isThere: boolean;
}

export interface OvertakenWritesOptions<Endpoint> {
  readonly clock: Clock;
  /** Undefined where the member does not answer. */
  readonly askLeader: (endpoint: Endpoint) => Promise<KnownLeader | undefined>;
}

interface Write<Endpoint> {
  readonly endpoint: Endpoint;
  /** In which it was sent. */
  readonly term: number;
  readonly sentAtMs: number;
  /** When a later leader was first seen. */
  overtakenAtMs: number | undefined;
  readonly given: Deferred<never>;
}

const lookMs = 250;
/** Writes that take no longer than this are not thought of. */
const usualMs = 500;
/** What the next leader has of it is done, and known here, within this. */
const settledMs = 300;

export class OvertakenWrites<Endpoint> {
  readonly #options: OvertakenWritesOptions<Endpoint>;
  /** In the order in which they were sent. */
  readonly #writes = new Set<Write<Endpoint>>();
  #timer: Timer | undefined;

  constructor(options: OvertakenWritesOptions<Endpoint>) {
    this.#options = options;
  }

  /** Settles as the answer does, or rejects with a StoreError (timeout) when it is not to be waited for. */
  async watch<T>(endpoint: Endpoint, term: number, answer: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const write = { endpoint, term, sentAtMs: clock.monotonic(), overtakenAtMs: undefined, given: deferred<never>() };
    this.#writes.add(write);
    this.#timer ??= clock.setTimer(() => void this.#look(), lookMs);
    try {
      return await Promise.race([answer, write.given.promise]);
    } finally {
      this.#writes.delete(write);
    }
  }

  async #look(): Promise<void> {
    const { clock } = this.#options;
    const slow: Write<Endpoint>[] = [];
    for (const write of this.#writes) {
      if (clock.monotonic() - write.sentAtMs < usualMs) break;
      slow.push(write);
    }
    const endpoints = [...new Set(slow.map(({ endpoint }) => endpoint))];
    await Promise.all(endpoints.map((endpoint) => this.#examine(endpoint, slow)));
    this.#timer = this.#writes.size === 0 ? undefined : clock.setTimer(() => void this.#look(), lookMs);
  }

  async #examine(endpoint: Endpoint, slow: readonly Write<Endpoint>[]): Promise<void> {
    const { clock, askLeader } = this.#options;
    const leader = await askLeader(endpoint);
    if (leader === undefined) return;
    const nowMs = clock.monotonic();
    for (const write of slow) {
      if (write.endpoint !== endpoint || !isOvertaken(write, leader)) continue;
      write.overtakenAtMs ??= nowMs;
      if (nowMs - write.overtakenAtMs >= settledMs)
        write.given.reject(new StoreError('timeout', 'etcd has another leader, which may not know of the write'));
    }
  }
}

/** Whether a leader has come after the one that the write was for. A term of 0 is one that was not known. */
function isOvertaken({ term }: { readonly term: number }, leader: KnownLeader): boolean {
  return term > 0 && leader.isThere && leader.term > term;
}
