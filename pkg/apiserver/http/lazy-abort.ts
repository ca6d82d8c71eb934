/** An AbortController that makes its signal when somebody asks for it: most requests are answered before. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: unknown;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why it was aborted; undefined when it was not. */
  get reason(): unknown {
    return this.#reason;
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }
}
