/** An API server whose answers a test gives, one request after the other. */
import type { Requests } from '#dashboard/live/requests.js';
import { RequestError } from '#dashboard/model/trouble.js';

/** A request that waits for its answer. */
export interface ListRequest {
  readonly url: URL;
  answer(document: unknown): void;
  refuse(code: number): void;
}

/** A watch that is open. */
export interface OpenWatch {
  readonly url: URL;
  readonly isOver: boolean;
  send(event: unknown): void;
  /** `code`: of the failure, 0 for a lost connection; absent: the server ends it. */
  end(code?: number): void;
}

export class ScriptedRequests implements Requests {
  readonly lists: ListRequest[] = [];
  readonly watches: OpenWatch[] = [];

  json<T>(path: string): Promise<T> {
    return new Promise((resolve, reject) => {
      this.lists.push({
        url: new URL(path, 'http://server'),
        answer: (document) => resolve(document as T),
        refuse: (code) => reject(new RequestError(code, `status ${code}`)),
      });
    });
  }

  async *lines(path: string, { signal }: { readonly signal: AbortSignal }): AsyncIterable<string> {
    const watch = new ScriptedWatch(new URL(path, 'http://server'));
    this.watches.push(watch);
    const abort = () => watch.end();
    signal.addEventListener('abort', abort, { once: true });
    for (;;) {
      const line = await watch.next();
      if (line === undefined) return;
      yield line;
    }
  }
}

class ScriptedWatch implements OpenWatch {
  readonly url: URL;
  isOver = false;
  readonly #waiting: string[] = [];
  #failure: RequestError | undefined;
  #wake: () => void = () => undefined;

  constructor(url: URL) {
    this.url = url;
  }

  send(event: unknown): void {
    this.#waiting.push(JSON.stringify(event));
    this.#wake();
  }

  end(code?: number): void {
    this.isOver = true;
    if (code !== undefined) this.#failure = new RequestError(code, `status ${code}`);
    this.#wake();
  }

  async next(): Promise<string | undefined> {
    for (;;) {
      const line = this.#waiting.shift();
      if (line !== undefined) return line;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.isOver) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
