import type { Clock } from '#apimachinery/clock.js';
import type { AnswerListener, AnswerTarget } from '#http/server/answer-target.js';
import { ConnectionLostError } from '#http/server/connection-lost.js';
import { Patience } from '#http/server/patience.js';

export interface FlightOptions {
  readonly clock: Clock;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** Longest time for a body that has an end. */
  readonly limitMs: number;
}

/** What one answer has handed to its connection, and whether that has left. */
export class Flight implements AnswerListener {
  readonly #target: AnswerTarget;
  readonly #options: FlightOptions;
  readonly #gone: (() => void) | undefined;
  #flying = false;
  /** What flies only waits for room. */
  #pushed = false;
  /** All has left: that the answer closes now is no loss. */
  #complete = false;
  /** Why the connection is of no use any more. */
  #lost: string | undefined;
  #wake: (() => void) | undefined;
  #limit: { cancel(): void } | undefined;
  readonly #patience: Patience;

  constructor(target: AnswerTarget, options: FlightOptions, gone?: () => void) {
    this.#target = target;
    this.#options = options;
    this.#gone = gone;
    const { clock, stallMs } = options;
    this.#patience = new Patience({ clock, stallMs, over: () => this.#cut('the client does not read') });
    target.listener = this;
    if (target.destroyed) this.#lost = 'connection closed';
  }

  /** Nothing is on its way. */
  get idle(): boolean {
    return !this.#flying && this.#lost === undefined;
  }

  /** From now on the answer has `limitMs`. */
  limit(): void {
    const { clock, limitMs } = this.#options;
    this.#limit = clock.setTimer(() => this.#cut('the answer took too long'), limitMs);
  }

  /** One at a time: `hand` gives bytes to the target, and what it is to call when they have left. */
  send(hand: (left: () => void) => void): void {
    this.#flying = true;
    hand(this.#landed);
  }

  /** The same for the last ones. */
  end(hand: (left: () => void) => void): void {
    this.#flying = true;
    hand(this.#ended);
  }

  /** False when it would be better to wait until it has `landed`. */
  push(bytes: Buffer): boolean {
    const room = this.#target.write(bytes);
    this.#flying = !room;
    this.#pushed = !room;
    return room;
  }

  /** Resolves when what was sent has left. Throws a ConnectionLostError. */
  async landed(): Promise<void> {
    if (this.#flying && this.#lost === undefined) await this.#waited();
    this.check();
  }

  drained(): void {
    // Of what is sent in pieces, it is the end of each that counts.
    if (this.#pushed) this.#landed();
  }

  /** Throws when the connection is lost. */
  check(): void {
    if (this.#lost !== undefined) throw new ConnectionLostError(this.#lost);
  }

  close(): void {
    this.#limit?.cancel();
    this.#patience.close();
    this.#target.listener = undefined;
  }

  closed(): void {
    if (this.#complete) return;
    this.#lost ??= 'connection closed';
    this.#wake?.();
    this.#gone?.();
  }

  async #waited(): Promise<void> {
    this.#patience.begin();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#patience.end();
  }

  readonly #landed = (): void => {
    this.#flying = false;
    if (this.#target.destroyed) this.#lost ??= 'connection closed';
    this.#wake?.();
  };

  readonly #ended = (): void => {
    this.#complete = !this.#target.destroyed;
    this.#landed();
  };

  #cut(why: string): void {
    this.#lost ??= why;
    this.#target.destroy();
    this.#wake?.();
  }
}
