/** A store that transforms values. Keys, revisions, conditions, leases and watches are those of the underlying store. */
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { internalError } from '#apimachinery/errors/status.js';
import { KeyServiceError } from '#storage/encryption/key-service.js';
import type { Transformed, ValueTransformer } from '#storage/encryption/transformer.js';
import { TransformError } from '#storage/encryption/value-cipher.js';
import { unreadableEntry } from '#storage/errors.js';
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
    return { ...result, kvs: await eachOf(result.kvs, (kv) => this.#read(kv)) };
  }

  override async create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult> {
    const stored = await storedForm(this.#transformer, value, key);
    return this.#result(await this.below.create(key, stored, options));
  }

  override async update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult> {
    const stored = await storedForm(this.#transformer, value, key);
    return this.#result(await this.below.update(key, stored, expected, options));
  }

  override async delete(key: string, expected: Revision, options?: DeleteOptions): Promise<WriteResult> {
    return this.#result(await this.below.delete(key, expected, options));
  }

  override async *watch(options: WatchOptions): AsyncGenerator<WatchMessage, void, void> {
    for await (const message of this.below.watch(options)) {
      if (message.type === 'progress') yield message;
      else yield { ...message, events: await readEvents(this.#transformer, message.events) };
    }
  }

  #result(result: WriteResult): MaybePromise<WriteResult> {
    if (result.ok || result.current === undefined) return result;
    return andThen(this.#read(result.current), (current) => ({ ...result, current }));
  }

  #read(kv: KeyValue): MaybePromise<KeyValue> {
    return readPair(this.#transformer, kv);
  }
}

/** The bytes to store. Fails with 500 while the key is out of reach. */
export function storedForm(transformer: ValueTransformer, value: Buffer, key: string): MaybePromise<Buffer> {
  const stored = transformer.toStorage(value, key);
  if (!(stored instanceof Promise)) return stored;
  return stored.catch((error: unknown) => {
    throw error instanceof KeyServiceError ? internalError(error) : error;
  });
}

/** Decodes the values of events. */
export function readEvents(
  transformer: ValueTransformer,
  events: readonly StoreEvent[],
): MaybePromise<readonly StoreEvent[]> {
  return eachOf(events, (event) => readEvent(transformer, event));
}

function readEvent(transformer: ValueTransformer, event: StoreEvent): MaybePromise<StoreEvent> {
  const { previous: old } = event;
  return andThen(old === undefined ? undefined : readPair(transformer, old), (previous) => {
    const before = previous && { previous };
    if (event.type === 'delete') return { ...event, ...before };
    return andThen(readPair(transformer, event.kv), (kv) => ({ ...event, kv, ...before }));
  });
}

/** Fails with 500 while the value's key is out of reach. */
function readPair(transformer: ValueTransformer, kv: KeyValue): MaybePromise<KeyValue> {
  try {
    const read = transformer.fromStorage(kv.value, kv.key);
    if (!(read instanceof Promise)) return readable(kv, read);
    return read.then((transformed) => readable(kv, transformed)).catch((error: unknown) => withoutValue(kv, error));
  } catch (error) {
    return withoutValue(kv, error);
  }
}

function readable({ key, modRevision }: KeyValue, { value, stale, authenticated }: Transformed): KeyValue {
  if (!authenticated) checkJson(value);
  return { key, modRevision, value, ...(stale && { stale }) };
}

function withoutValue({ key, modRevision }: KeyValue, error: unknown): KeyValue {
  if (error instanceof TransformError) return { key, modRevision, value: nothing, unreadable: error.message };
  throw error instanceof KeyServiceError ? unreadableEntry(key, error.message) : error;
}

/** Reads of one list at the same time: the other ones do not begin after a failure. */
const maxReads = 32;

/** The results in order; synchronous if all of them are. */
function eachOf<T, R>(items: readonly T[], read: (item: T) => MaybePromise<R>): MaybePromise<R[]> {
  const results: R[] = [];
  for (const [i, item] of items.entries()) {
    const result = read(item);
    if (result instanceof Promise) return remaining(items, read, { results, first: result, next: i + 1 });
    results.push(result);
  }
  return results;
}

async function remaining<T, R>(
  items: readonly T[],
  read: (item: T) => MaybePromise<R>,
  { results, first, next }: { readonly results: R[]; readonly first: Promise<R>; next: number },
): Promise<R[]> {
  let at = next;
  let failed = false;
  const work = async () => {
    while (at < items.length && !failed) {
      const i = at;
      at += 1;
      results[i] = await read(items[i] as T);
    }
  };
  const store = async () => {
    results[next - 1] = await first;
    await work();
  };
  const stop = (error: unknown) => {
    failed = true;
    throw error;
  };
  await Promise.all([store(), ...Array.from({ length: maxReads - 1 }, work)].map((each) => each.catch(stop)));
  return results;
}

/** Throws for a value that is not JSON: without authentication, changed bytes may decrypt to anything. */
function checkJson(value: Buffer): void {
  try {
    JSON.parse(decoder.decode(value));
  } catch {
    throw new TransformError('the stored data is not JSON');
  }
}
