/**
 * Decodes large YAML documents in a worker thread, one after the other: YAML takes a hundred times as long as JSON, which would
 * block the event loop for a second.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { requestEntityTooLarge, serviceUnavailable, tooManyRequests } from '#apimachinery/errors/status.js';

/** The thread's reply; `repeated`: see `ReadYAML`. */
export type YamlAnswer =
  | { readonly json: Uint8Array; readonly repeated: readonly string[] }
  | { readonly refusal: string };

export interface YamlDocument {
  readonly json: Buffer;
  /** See `ReadYAML`. */
  readonly repeated: readonly string[];
}

export interface YamlReaderOptions {
  readonly clock: Clock;
  /** Limit of the resulting JSON. */
  readonly maxBytes: number;
  /** Time limit per document; absent: 20 s. */
  readonly timeoutMs?: number;
  /** Limit of waiting documents; absent: 50. */
  readonly maxWaiting?: number;
}

interface Job {
  readonly body: Buffer;
  readonly resolve: (document: YamlDocument) => void;
  readonly reject: (error: unknown) => void;
}

const defaults = { timeoutMs: 20_000, maxWaiting: 50 } as const;
/** An idle thread ends after this time. */
const idleMs = 10_000;
/** Limit of the thread's memory: some hundred bytes per byte of a document. */
const maxHeapMiB = 1024;
const retryAfterSeconds = 1;

const closing = () => serviceUnavailable('the server is shutting down');
const tooMuchWork = () => requestEntityTooLarge('the YAML document takes too long to read');

export class YamlReader {
  readonly #options: Required<YamlReaderOptions>;
  readonly #waiting: Job[] = [];
  #worker: Worker | undefined;
  #current: Job | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: YamlReaderOptions) {
    this.#options = { ...defaults, ...options };
  }

  /**
   * The document as JSON. Throws a DecodeError for an invalid document, 413 for a large one, 429 when too many documents wait.
   */
  read(body: Buffer): Promise<YamlDocument> {
    if (this.#closed) return Promise.reject(closing());
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(tooManyRequests('too many YAML documents, please try again later', retryAfterSeconds));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, resolve, reject });
      this.#next();
    });
  }

  /** Ends the thread and refuses waiting documents. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closing());
    await this.#end(closing());
  }

  #next(): void {
    if (this.#current !== undefined) return;
    this.#timer?.cancel();
    this.#current = this.#waiting.shift();
    if (this.#current === undefined) {
      this.#timer = this.#options.clock.setTimer(() => void this.#end(undefined), idleMs);
      return;
    }
    this.#timer = this.#options.clock.setTimer(() => void this.#end(tooMuchWork()), this.#options.timeoutMs);
    this.#worker ??= this.#start();
    this.#worker.postMessage(this.#current.body);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./yaml-worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    });
    worker.unref();
    worker.on('message', (answer: YamlAnswer) => this.#answered(answer));
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#worker !== worker) return;
      void this.#end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchWork() : error);
    });
    return worker;
  }

  #answered(answer: YamlAnswer): void {
    const job = this.#current;
    this.#current = undefined;
    if ('refusal' in answer) job?.reject(new DecodeError(answer.refusal));
    else if (answer.json.byteLength > this.#options.maxBytes) {
      job?.reject(requestEntityTooLarge(`limit is ${this.#options.maxBytes}`));
    } else {
      const { json, repeated } = answer;
      job?.resolve({ json: Buffer.from(json.buffer, json.byteOffset, json.byteLength), repeated });
    }
    this.#next();
  }

  /** Ends the thread and refuses its current document. The next document starts a new thread. */
  async #end(reason: unknown): Promise<void> {
    this.#timer?.cancel();
    const [worker, job] = [this.#worker, this.#current];
    this.#worker = undefined;
    this.#current = undefined;
    job?.reject(reason);
    if (this.#waiting.length > 0) this.#next();
    await worker?.terminate();
  }
}
