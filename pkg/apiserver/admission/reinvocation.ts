/**
 * The second round of the first pass, as in 1.24: if a webhook changed the object, the plugins run once more, and so do the
 * webhooks that request it. There is no third round.
 */
export class Reinvocation {
  #round: 0 | 1 = 0;
  #required = false;
  /** Webhooks to call again if the object changes after them. */
  readonly #invoked = new Set<string>();
  readonly #reinvoked = new Set<string>();
  /** The object as the last webhook left it. */
  output: string | undefined;

  get round(): 0 | 1 {
    return this.#round;
  }

  /** Begins the second round if one is required; true once. */
  begins(): boolean {
    if (!this.#required || this.#round === 1) return false;
    this.#round = 1;
    return true;
  }

  /** Records that a webhook has changed the object. */
  changedByWebhook(): void {
    this.#required = true;
    this.changed();
  }

  /** True if a webhook has requested another call after later changes. */
  get mayReinvoke(): boolean {
    return this.#invoked.size > 0;
  }

  changed(): void {
    for (const id of this.#invoked) this.#reinvoked.add(id);
    this.#invoked.clear();
  }

  invoked(id: string): void {
    this.#invoked.add(id);
  }

  /** True if the webhook may be called in this round: the second round calls no webhook for the first time. */
  mayCall(id: string): boolean {
    return this.#round === 0 || this.#reinvoked.has(id);
  }
}
