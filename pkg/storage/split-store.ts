/** The store of a resource when resources are spread over several stores: guards of others are written apart. */
import type { Logger } from '#daemon/log/logger.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import type { DeleteOptions, Guard, Revision, Store, WriteOptions, WriteResult } from '#storage/store.js';
import { WritesApart } from '#storage/writes-apart.js';

export interface SplitStoreOptions {
  /** The store of a key. */
  readonly storeOf: (key: string) => Store;
  readonly log: Logger;
}

export class SplitStore extends ForwardingStore {
  readonly #options: SplitStoreOptions;
  readonly #apart: WritesApart;

  constructor(below: Store, options: SplitStoreOptions) {
    super(below);
    this.#options = options;
    this.#apart = new WritesApart({ ...options, own: below });
  }

  override create(key: string, value: Buffer, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#write('write', options, (own) => this.below.create(key, value, own));
  }

  override update(key: string, value: Buffer, expected: Revision, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#write('write', options, (own) => this.below.update(key, value, expected, own));
  }

  override delete(key: string, expected: Revision, options: DeleteOptions = {}): Promise<WriteResult> {
    return this.#write('delete', options, (own) => this.below.delete(key, expected, own));
  }

  #write<O extends DeleteOptions>(
    how: 'write' | 'delete',
    options: O,
    write: (own: O) => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const { guards = [] } = options;
    const isHere = ({ key }: Guard) => this.#options.storeOf(key) === this.below;
    if (guards.every(isHere)) return write(options);
    const elsewhere = guards.filter((guard) => !isHere(guard));
    return this.#apart[how](elsewhere, options.signal, () => write({ ...options, guards: guards.filter(isHere) }));
  }
}
