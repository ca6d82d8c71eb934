/**
 * How the last streams that the peer closed were closed, so that what it sends on them afterwards can be told from what
 * was under way when this side gave a stream up. Bounded: what is older is ignored.
 */
const remembered = 64;

export class ClosedStreams {
  /** Ids of those that the peer ended; minus the ids of those that it reset. */
  readonly #ids = new Int32Array(remembered);
  #next = 0;

  add(streamId: number, how: 'ended' | 'reset'): void {
    this.#ids[this.#next] = how === 'ended' ? streamId : -streamId;
    this.#next = (this.#next + 1) % remembered;
  }

  /** Undefined: not by the peer, or long ago. */
  get(streamId: number): 'ended' | 'reset' | undefined {
    if (this.#ids.includes(streamId)) return 'ended';
    return this.#ids.includes(-streamId) ? 'reset' : undefined;
  }
}
