/** Where the large values of a stored object are in its bytes. */
import { sameItems } from '#apimachinery/equality.js';

export interface StoredParts {
  /** Start and end of each, in the order of `largeValues`: first the managers' field sets. */
  readonly ranges: readonly number[];
  readonly fieldSets: number;
  /** Of all bytes. */
  readonly length: number;
}

const slots = 1024;

/**
 * One and the same description for objects that have their parts at the same places, as most of one template do: each
 * object that was written keeps one. Bounded; what is not known any more is kept anew.
 */
export class RecentParts {
  readonly #slots: (StoredParts | undefined)[] = Array.from({ length: slots });

  /** An equal one to keep. */
  of({ ranges, fieldSets, length }: StoredParts): StoredParts {
    let hash = length;
    for (const place of ranges) hash = (Math.imul(hash, 31) + place) | 0;
    const slot = (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (slots - 1);
    const known = this.#slots[slot];
    if (known?.length === length && known.fieldSets === fieldSets && sameItems(known.ranges, ranges)) return known;
    // A copy has no room for more behind it, unlike an array that has grown.
    const kept = { ranges: ranges.slice(), fieldSets, length };
    this.#slots[slot] = kept;
    return kept;
  }
}
