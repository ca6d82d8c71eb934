/**
 * The store of a resource when resources are spread over several stores, so that guards of other stores cannot be part
 * of its transactions.
 *
 * Guards elsewhere are checked, and their values written, right before the write, and reverted if it does not happen.
 * Other readers may see the state in between, and a crash may leave it: such values (quota usage) are recalculated by
 * their owner. Release 1.24 does this for every write.
 */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Logger } from '#daemon/log/logger.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import {
  type DeleteOptions,
  type Guard,
  type KeyValue,
  type Revision,
  type Store,
  StoreError,
  type WriteOptions,
  type WriteResult,
} from '#storage/store.js';

export interface SplitStoreOptions {
  /** The store of a key. */
  readonly storeOf: (key: string) => Store;
  readonly log: Logger;
}

/** A value written elsewhere, and the previous one. */
interface Put {
  readonly key: string;
  readonly revision: Revision;
  readonly before: KeyValue | undefined;
}

export class SplitStore extends ForwardingStore {
  readonly #options: SplitStoreOptions;

  constructor(below: Store, options: SplitStoreOptions) {
    super(below);
    this.#options = options;
  }

  override create(key: string, value: Buffer, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#write(options, (own) => this.below.create(key, value, own));
  }

  override update(key: string, value: Buffer, expected: Revision, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#write(options, (own) => this.below.update(key, value, expected, own));
  }

  override delete(key: string, expected: Revision, options: DeleteOptions = {}): Promise<WriteResult> {
    return this.#write(options, (own) => this.below.delete(key, expected, own));
  }

  #write<O extends DeleteOptions>(options: O, write: (own: O) => Promise<WriteResult>): Promise<WriteResult> {
    const { guards = [] } = options;
    const isHere = ({ key }: Guard) => this.#options.storeOf(key) === this.below;
    if (guards.every(isHere)) return write(options);
    const elsewhere = guards.filter((guard) => !isHere(guard));
    return this.#writeAfter(elsewhere, options.signal, () => write({ ...options, guards: guards.filter(isHere) }));
  }

  async #writeAfter(
    guards: readonly Guard[],
    signal: Cancellation | undefined,
    write: () => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const current = await Promise.all(guards.map(({ key }) => this.#read(key, signal)));
    const unmet = guards.filter(({ modRevision }, i) => (current[i]?.modRevision ?? 0n) !== modRevision);
    if (unmet.length > 0) return this.#refused(unmet, signal);
    const puts: Put[] = [];
    for (const [i, guard] of guards.entries()) {
      const { key, value, modRevision } = guard;
      if (value === undefined) continue;
      const store = this.#options.storeOf(key);
      const written = await (modRevision === 0n ? store.create(key, value) : store.update(key, value, modRevision));
      if (!written.ok) {
        await this.#revert(puts);
        return this.#refused([guard], signal);
      }
      puts.push({ key, revision: written.revision, before: current[i] });
    }
    try {
      const result = await write();
      if (result.ok) return puts.length === 0 ? result : { ...result, putApart: true };
      await this.#revert(puts);
      return result;
    } catch (error) {
      // Do not revert after other errors: the outcome is unknown, and counting too much is better than too little.
      if (error instanceof StoreError && didNotHappen.has(error.code)) await this.#revert(puts);
      throw error;
    }
  }

  async #read(key: string, signal: Cancellation | undefined): Promise<KeyValue | undefined> {
    const { kvs } = await this.#options.storeOf(key).range({ start: key, end: `${key}\0`, ...(signal && { signal }) });
    return kvs[0];
  }

  async #refused(failedGuards: readonly Guard[], signal: Cancellation | undefined): Promise<WriteResult> {
    return { ok: false, revision: await this.below.currentRevision(signal), failedGuards };
  }

  /** Reverts in reverse order, except values that were written again since. */
  async #revert(puts: readonly Put[]): Promise<void> {
    const { storeOf, log } = this.#options;
    for (const { key, revision, before } of [...puts].reverse()) {
      const store = storeOf(key);
      try {
        if (before === undefined) await store.delete(key, revision);
        else await store.update(key, before.value, revision);
      } catch (err) {
        if (!(err instanceof StoreError)) throw err;
        log.warn({ err, key }, 'cannot revert a value of a write that did not happen');
      }
    }
  }
}

const didNotHappen: ReadonlySet<string> = new Set(['tooLarge', 'noSpace']);
