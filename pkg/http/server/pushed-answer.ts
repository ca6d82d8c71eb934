/** An answer whose body says by itself when there is a part of it. */
import type { Clock } from '#apimachinery/clock.js';
import type { AnswerListener, AnswerTarget } from '#http/server/answer-target.js';
import { ConnectionLostError } from '#http/server/connection-lost.js';
import { Patience } from '#http/server/patience.js';
import type { BodySink, PushedBody } from '#http/server/pushed-body.js';

export interface PushedAnswerOptions {
  readonly clock: Clock;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
}

type Failure = { readonly error: unknown };

/**
 * Passes the parts on behind the head, which has been written. Resolves when the body has ended; rejects with what broke it
 * off, or with a ConnectionLostError when the client goes away or stops reading; the body is told to stop then.
 */
export function passOn(target: AnswerTarget, body: PushedBody, options: PushedAnswerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const settled = (failure: Failure | undefined) => {
      if (failure === undefined) resolve();
      else reject(failure.error);
    };
    new PushedAnswer(target, body, options, settled).begin();
  });
}

class PushedAnswer implements AnswerListener, BodySink {
  readonly #target: AnswerTarget;
  readonly #body: PushedBody;
  readonly #options: PushedAnswerOptions;
  readonly #settled: (failure: Failure | undefined) => void;
  #patience: Patience | undefined;
  /** The body waits for room. */
  #full = false;
  #over = false;

  constructor(
    target: AnswerTarget,
    body: PushedBody,
    options: PushedAnswerOptions,
    settled: (failure: Failure | undefined) => void,
  ) {
    this.#target = target;
    this.#body = body;
    this.#options = options;
    this.#settled = settled;
  }

  begin(): void {
    this.#target.listener = this;
    if (this.#target.destroyed) this.closed();
    else this.#body.start(this);
  }

  part(bytes: Buffer): boolean {
    if (this.#over) return false;
    if (this.#target.write(bytes)) return true;
    this.#full = true;
    const { clock, stallMs } = this.#options;
    this.#patience ??= new Patience({ clock, stallMs, over: () => this.#cut() });
    this.#patience.begin();
    return false;
  }

  ended(failure?: Failure): void {
    if (this.#over) return;
    if (failure === undefined) this.#target.end();
    this.#finish(failure);
  }

  drained(): void {
    if (!this.#full || this.#over) return;
    this.#full = false;
    this.#patience?.end();
    this.#body.resume();
  }

  closed(): void {
    this.#lose('connection closed');
  }

  #cut(): void {
    this.#target.destroy();
    this.#lose('the client does not read');
  }

  #lose(why: string): void {
    if (this.#over) return;
    this.#finish({ error: new ConnectionLostError(why) });
    this.#body.stop();
  }

  #finish(failure: Failure | undefined): void {
    this.#over = true;
    this.#patience?.close();
    this.#target.listener = undefined;
    this.#settled(failure);
  }
}
