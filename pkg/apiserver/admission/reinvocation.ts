/**
 * The second round of the first pass, as in 1.24: when a webhook has changed the object, those plugins that saw it before
 * see it once more, and so do the webhooks that ask for it. There is no third round.
 */
export class Reinvocation {
  #round: 0 | 1 = 0;
  #wanted = false;
  /** Webhooks that want to be asked again when somebody changes the object after them. */
  readonly #invoked = new Set<string>();
  readonly #again = new Set<string>();
  /** The object as the last webhook left it. */
  output: string | undefined;

  get round(): 0 | 1 {
    return this.#round;
  }

  /** True once, when there has to be another round, which begins thereby. */
  begins(): boolean {
    if (!this.#wanted || this.#round === 1) return false;
    this.#round = 1;
    return true;
  }

  /** A webhook has changed the object. */
  changedByWebhook(): void {
    this.#wanted = true;
    this.changed();
  }

  /** Somebody who has been asked wants to be asked again when the object changes. */
  get someMayReturn(): boolean {
    return this.#invoked.size > 0;
  }

  changed(): void {
    for (const id of this.#invoked) this.#again.add(id);
    this.#invoked.clear();
  }

  invoked(id: string): void {
    this.#invoked.add(id);
  }

  /** Nobody is asked for the first time in the second round. */
  asks(id: string): boolean {
    return this.#round === 0 || this.#again.has(id);
  }
}
