/** A store that transforms values. Keys, revisions, conditions, leases and watches are those of the underlying store. */
import type { ValueTransformer } from '#storage/encryption/transformer.js';
import { TransformError } from '#storage/encryption/value-cipher.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import type {
  DeleteOptions,
  KeyValue,
  RangeOptions,
  RangeResult,
  Revision,
  Store,
  StoreEvent,
  WatchMessage,
  WatchOptions,
  WriteOptions,
  WriteResult,
} from '#storage/store.js';

const nothing = Buffer.alloc(0);
const decoder = new TextDecoder('utf-8', { fatal: true });

export class TransformingStore extends ForwardingStore {
  readonly #transformer: ValueTransformer;

  constructor(below: Store, transformer: ValueTransformer) {
    super(below);
    this.#transformer = transformer;
  }

  override async range(options: RangeOptions): Promise<RangeResult> {
    const result = await this.below.range(options);
    if (options.keysOnly === true) return result;
    return { ...result, kvs: result.kvs.map((kv) => this.#read(kv)) };
  }

  override async create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult> {
    return this.#result(await this.below.create(key, this.#transformer.toStorage(value, key), options));
  }

  override async update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult> {
    const stored = this.#transformer.toStorage(value, key);
    return this.#result(await this.below.update(key, stored, expected, options));
  }

  override async delete(key: string, expected: Revision, options?: DeleteOptions): Promise<WriteResult> {
    return this.#result(await this.below.delete(key, expected, options));
  }

  override async *watch(options: WatchOptions): AsyncGenerator<WatchMessage, void, void> {
    for await (const message of this.below.watch(options)) {
      if (message.type === 'progress') yield message;
      else yield { ...message, events: message.events.map((event) => readEvent(this.#transformer, event)) };
    }
  }

  #result(result: WriteResult): WriteResult {
    if (result.ok || result.current === undefined) return result;
    return { ...result, current: this.#read(result.current) };
  }

  #read(kv: KeyValue): KeyValue {
    return readPair(this.#transformer, kv);
  }
}

/** Decodes an event's values. */
export function readEvent(transformer: ValueTransformer, event: StoreEvent): StoreEvent {
  const previous = event.previous && { previous: readPair(transformer, event.previous) };
  if (event.type === 'delete') return { ...event, ...previous };
  return { ...event, kv: readPair(transformer, event.kv), ...previous };
}

function readPair(transformer: ValueTransformer, { key, modRevision, value: stored }: KeyValue): KeyValue {
  try {
    const { value, stale, authenticated } = transformer.fromStorage(stored, key);
    if (!authenticated) checkJson(value);
    return { key, modRevision, value, ...(stale && { stale }) };
  } catch (err) {
    if (!(err instanceof TransformError)) throw err;
    return { key, modRevision, value: nothing, unreadable: err.message };
  }
}

/** Throws for a value that is not JSON: without authentication, changed bytes may decrypt to anything. */
function checkJson(value: Buffer): void {
  try {
    JSON.parse(decoder.decode(value));
  } catch {
    throw new TransformError('the stored data is not JSON');
  }
}
