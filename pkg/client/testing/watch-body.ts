/** The body of a watch, filled by the test. */
import type { ApiObject } from '#client/client.js';

export class WatchBody implements AsyncIterable<Buffer> {
  readonly #bookmarks: boolean;
  readonly #pending: Buffer[] = [];
  readonly #endListeners: (() => void)[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #error: Error | undefined;

  constructor(bookmarks = true) {
    this.#bookmarks = bookmarks;
  }

  send(event: { type: string; object: unknown }): void {
    this.raw(`${JSON.stringify(event)}\n`);
  }

  bookmark(revision: number, annotations?: Record<string, string>): void {
    if (!this.#bookmarks) return;
    const metadata = { resourceVersion: String(revision), ...(annotations === undefined ? {} : { annotations }) };
    const object: ApiObject = { metadata };
    this.send({ type: 'BOOKMARK', object });
  }

  /** Sends raw bytes, such as half a line. */
  raw(text: string): void {
    if (this.#ended) return;
    this.#pending.push(Buffer.from(text));
    this.#wake?.();
  }

  /** Ends the body after what was sent; `error` breaks it. */
  end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
    for (const listener of this.#endListeners) listener();
  }

  onEnd(listener: () => void): void {
    this.#endListeners.push(listener);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = this.#pending.shift();
        if (chunk !== undefined) {
          yield chunk;
          continue;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.end();
    }
  }
}
