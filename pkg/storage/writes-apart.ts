/**
 * Guards of a write that cannot be part of its transaction: they are checked, and their values written, right before the
 * write, and reverted if it does not happen. The values of a deletion, which free something, are written after it. Other
 * readers may see the state in between, and a crash may leave it: such values (quota usage) are recalculated by their owner,
 * and until then they are too high. Release 1.24 does this for every write.
 */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Logger } from '#daemon/log/logger.js';
import { type Guard, type KeyValue, type Revision, type Store, StoreError, type WriteResult } from '#storage/store.js';

type GuardStore = Pick<Store, 'range' | 'create' | 'update' | 'delete' | 'currentRevision'>;

export interface WritesApartOptions {
  /** The store of a guard's key. */
  readonly storeOf: (key: string) => GuardStore;
  /** The store of the written key. */
  readonly own: Pick<Store, 'currentRevision'>;
  readonly log: Logger;
}

/** A value written apart, and the previous one. */
interface Put {
  readonly key: string;
  readonly revision: Revision;
  readonly before: KeyValue | undefined;
}

const didNotHappen: ReadonlySet<string> = new Set(['tooLarge', 'noSpace']);

type Write = () => Promise<WriteResult>;

/** Guards that do not hold. */
function unmetOf(guards: readonly Guard[], current: readonly (KeyValue | undefined)[]): readonly Guard[] {
  return guards.filter(({ modRevision }, i) => (current[i]?.modRevision ?? 0n) !== modRevision);
}

export class WritesApart {
  readonly #options: WritesApartOptions;

  constructor(options: WritesApartOptions) {
    this.#options = options;
  }

  /** Writes if the guards hold. */
  async write(guards: readonly Guard[], signal: Cancellation | undefined, write: Write): Promise<WriteResult> {
    const current = await this.#readAll(guards, signal);
    const unmet = unmetOf(guards, current);
    if (unmet.length > 0) return this.#refused(unmet, signal);
    const puts: Put[] = [];
    for (const [i, guard] of guards.entries()) {
      const { key, value, modRevision } = guard;
      if (value === undefined) continue;
      const written = await this.#put(key, value, modRevision);
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

  /** Deletes if the guards hold. */
  async delete(guards: readonly Guard[], signal: Cancellation | undefined, write: Write): Promise<WriteResult> {
    const unmet = unmetOf(guards, await this.#readAll(guards, signal));
    if (unmet.length > 0) return this.#refused(unmet, signal);
    const result = await write();
    if (!result.ok) return result;
    let putApart = false;
    for (const { key, value, modRevision } of guards) {
      if (value === undefined) continue;
      putApart = true;
      await this.#free(key, value, modRevision);
    }
    return putApart ? { ...result, putApart } : result;
  }

  /** Leaves the value of another writer. */
  async #free(key: string, value: Buffer, modRevision: Revision): Promise<void> {
    try {
      await this.#put(key, value, modRevision);
    } catch (err) {
      if (!(err instanceof StoreError)) throw err;
      this.#options.log.warn({ err, key }, 'cannot write a value of a deletion');
    }
  }

  #put(key: string, value: Buffer, modRevision: Revision): Promise<WriteResult> {
    const store = this.#options.storeOf(key);
    return modRevision === 0n ? store.create(key, value) : store.update(key, value, modRevision);
  }

  #readAll(guards: readonly Guard[], signal: Cancellation | undefined): Promise<readonly (KeyValue | undefined)[]> {
    return Promise.all(guards.map(({ key }) => this.#read(key, signal)));
  }

  async #read(key: string, signal: Cancellation | undefined): Promise<KeyValue | undefined> {
    const { kvs } = await this.#options.storeOf(key).range({ start: key, end: `${key}\0`, ...(signal && { signal }) });
    return kvs[0];
  }

  async #refused(failedGuards: readonly Guard[], signal: Cancellation | undefined): Promise<WriteResult> {
    return { ok: false, revision: await this.#options.own.currentRevision(signal), failedGuards };
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
