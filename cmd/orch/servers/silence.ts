/** When a server that says nothing is to be asked whether it is still there. */

/** A server that has been sent something answers, or acknowledges it, within this. */
const answerMs = 1000;
/** One that nobody asks anything may be silent for longer. */
const idleMs = 10_000;

/** What was seen of one server, over all connections to it. Instants are of a monotonic clock; ms. */
export class Silence {
  #heardAtMs: number;
  /** When something was sent that nothing has come after; undefined: all was answered. */
  #askedAtMs: number | undefined;
  #patienceMs = answerMs;

  constructor(nowMs: number) {
    this.#heardAtMs = nowMs;
  }

  sent(nowMs: number): void {
    this.#askedAtMs ??= nowMs;
  }

  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
    this.#askedAtMs = undefined;
    this.#patienceMs = answerMs;
  }

  /**
   * It was asked and is well: it only takes its time, or what it was sent needs no answer. Each time it is left alone for
   * longer.
   */
  explained(nowMs: number): void {
    this.#heardAtMs = nowMs;
    if (this.#askedAtMs !== undefined) this.#askedAtMs = nowMs;
    this.#patienceMs = Math.min(idleMs, this.#patienceMs * 2);
  }

  /** Whether it must be asked: it may be gone without a word, as a machine does that is cut off. */
  isSuspicious(nowMs: number): boolean {
    const owesMs = this.#askedAtMs === undefined ? 0 : nowMs - this.#askedAtMs;
    return owesMs >= this.#patienceMs || nowMs - this.#heardAtMs >= idleMs;
  }
}
