/** One after the other within a namespace: what would overtake each other waits instead. */
import { deferred } from '#apimachinery/async/deferred.js';
import type { Cancellation } from '#apimachinery/cancellation.js';

export class NamespaceTurns {
  /** Who waits in each namespace where it is somebody's turn. At most as many as there are requests. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves, when it is the caller's turn, to what ends it. Rejects with the reason when the signal aborts before. */
  async take(namespace: string, signal?: Cancellation): Promise<() => void> {
    signal?.throwIfAborted();
    const queue = this.#waiting.get(namespace);
    if (queue === undefined) this.#waiting.set(namespace, []);
    else await this.#inLine(queue, signal);
    let over = false;
    return () => {
      if (!over) this.#next(namespace);
      over = true;
    };
  }

  async #inLine(queue: (() => void)[], signal: Cancellation | undefined): Promise<void> {
    const turn = deferred();
    const start = () => turn.resolve();
    const leave = () => {
      const at = queue.indexOf(start);
      if (at < 0) return;
      queue.splice(at, 1);
      turn.reject(signal?.reason);
    };
    queue.push(start);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #next(namespace: string): void {
    const next = this.#waiting.get(namespace)?.shift();
    if (next === undefined) this.#waiting.delete(namespace);
    else next();
  }
}
