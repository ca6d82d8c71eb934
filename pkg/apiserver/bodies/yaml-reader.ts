/**
 * Decodes large YAML documents in worker threads: YAML takes a hundred times as long as JSON, which would block the event loop
 * for a second. Documents that take long are decoded again in a thread of their own kind, so that they delay only each other.
 */
import type { Clock } from '#apimachinery/clock.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { requestEntityTooLarge, serviceUnavailable, tooManyRequests } from '#apimachinery/errors/status.js';
import { type YamlAnswer, type YamlJob, YamlLane } from '#apiserver/bodies/yaml-lane.js';
import { Shares } from '#http/server/server-request.js';

export interface YamlDocument {
  readonly json: Buffer;
  /** See `ReadYAML`. */
  readonly repeated: readonly string[];
}

export interface YamlReaderOptions {
  readonly clock: Clock;
  /** Limit of the resulting JSON. */
  readonly maxBytes: number;
  /** Documents that take longer are moved to the second thread; absent: 2 s. */
  readonly quickMs?: number;
  /** Time limit per document there; absent: 20 s. */
  readonly timeoutMs?: number;
  /** Limit of documents, of which a user has as many as are free; absent: 50. */
  readonly maxDocuments?: number;
}

const defaults = { quickMs: 2000, timeoutMs: 20_000, maxDocuments: 50 } as const;
const retryAfterSeconds = 1;

const closing = () => serviceUnavailable('the server is shutting down');
const tooMuchWork = () => requestEntityTooLarge('the YAML document takes too long to read');

export class YamlReader {
  readonly #options: Required<YamlReaderOptions>;
  readonly #documents: Shares;
  readonly #quick: YamlLane;
  readonly #slow: YamlLane;
  #closed = false;

  constructor(options: YamlReaderOptions) {
    this.#options = { ...defaults, ...options };
    const { clock, quickMs, timeoutMs, maxDocuments } = this.#options;
    this.#documents = new Shares(maxDocuments);
    this.#slow = new YamlLane({ clock, timeoutMs, exceeded: ({ reject }) => reject(tooMuchWork()) });
    this.#quick = new YamlLane({ clock, timeoutMs: quickMs, exceeded: (job) => this.#slow.add(job) });
  }

  /**
   * The user's document as JSON. Throws a DecodeError for an invalid document, 413 for a large one, 429 when too many documents
   * wait.
   */
  async read(body: Buffer, user: string): Promise<YamlDocument> {
    if (this.#closed) throw closing();
    if (!this.#documents.take(user, 1)) {
      throw tooManyRequests('too many YAML documents, please try again later', retryAfterSeconds);
    }
    try {
      return this.#documentOf(await this.#decoded({ body, user }));
    } finally {
      this.#documents.give(user, 1);
    }
  }

  /** Ends the threads and refuses waiting documents. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#quick.close(closing()), this.#slow.close(closing())]);
  }

  #decoded(job: Pick<YamlJob, 'body' | 'user'>): Promise<YamlAnswer> {
    return new Promise((resolve, reject) => this.#quick.add({ ...job, resolve, reject }));
  }

  #documentOf(answer: YamlAnswer): YamlDocument {
    if ('refusal' in answer) throw new DecodeError(answer.refusal);
    const { json, repeated } = answer;
    const { maxBytes } = this.#options;
    if (json.byteLength > maxBytes) throw requestEntityTooLarge(`limit is ${maxBytes}`);
    return { json: Buffer.from(json.buffer, json.byteOffset, json.byteLength), repeated };
  }
}
