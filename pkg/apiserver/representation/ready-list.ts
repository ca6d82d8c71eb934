/** Lists whose objects are encoded already: nothing is made for an answer but what stands before and behind them. */
import type { Entry, EntryBytes } from '#storage/resource-storage.js';

export interface ReadyList {
  /** Names the bytes of the objects: the same objects have the same bytes in lists of the same form. */
  readonly form: string;
  readonly head: Buffer;
  readonly entries: readonly Entry[];
  readonly bytesOf: (entry: Entry) => EntryBytes;
  /** Bytes at the beginning of each object that are left out. */
  readonly skipped: number;
  /** Between two objects; empty where nothing is. */
  readonly separator: Buffer;
  readonly tail: Buffer;
}
