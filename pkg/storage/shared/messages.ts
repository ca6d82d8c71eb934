/**
 * What the thread that follows the store tells those that read: which bytes of which shared memory are which version of
 * which object. The bytes themselves are never sent, but for outlines.
 */
import type { Revision } from '#storage/store.js';

/**
 * Where what an entry keeps is: the number of a slab, an offset and a length. Where parts of it are a template's, that is what
 * `PlacedBytes` takes, and two numbers more: of the template's slab, and how long all is.
 */
export type Place =
  | readonly [slab: number, offset: number, length: number]
  | readonly [slab: number, offset: number, length: number, template: number, whole: number];

/** One version of one object. */
export interface VersionRecord {
  readonly key: string;
  readonly revision: Revision;
  readonly place: Place;
  readonly stale?: true;
  readonly unreadable?: string;
  /** JSON, where it is known already: it is small, and to find it in all of a large object takes a while. */
  readonly outline?: Uint8Array;
}

/** A write; of a deletion only that it happened. */
export type WriteRecord = VersionRecord | { readonly key: string; readonly revision: Revision; readonly place?: never };

/** A version whose bytes are elsewhere from now on. */
export interface MoveRecord {
  readonly moved: VersionRecord;
}

/** A change of the past: `entry` as it became, absent for a deletion, and what was there before. */
export interface PastRecord {
  readonly revision: Revision;
  readonly entry?: VersionRecord;
  readonly previous?: VersionRecord;
}

export type FeedMessage = { readonly prefix: string } & (
  | { readonly type: 'changes'; readonly steps: readonly (WriteRecord | MoveRecord)[]; readonly revision: Revision }
  /** Some of the whole state, in the order of the keys. */
  | { readonly type: 'state'; readonly entries: readonly VersionRecord[] }
  /** The whole state, told by the messages before this one, is that of `revision`. */
  | { readonly type: 'filled'; readonly revision: Revision }
  /** Some of what happened before, in the order of the revisions. */
  | { readonly type: 'past'; readonly changes: readonly PastRecord[] }
  /** What happened after `floor` has been told; no more will be. */
  | { readonly type: 'settled'; readonly floor: Revision }
);

/** What is sent at once. */
export interface FeedBatch {
  /** Memory that is new to the reader, by number. */
  readonly slabs: readonly (readonly [id: number, memory: SharedArrayBuffer])[];
  readonly messages: readonly FeedMessage[];
  /** Slabs that no later batch refers to without sending them again. */
  readonly forget: readonly number[];
}

/** What a reader asks for. */
export type FeedRequest =
  /** To be told soon how far the resource is. */
  | { readonly type: 'progress'; readonly prefix: string }
  /** The resource's whole state. */
  | { readonly type: 'refill'; readonly prefix: string };
