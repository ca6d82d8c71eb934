/** Nodes of field sets that were made last: new objects mostly have the fields that others had before them. */
import { type FieldSet, inOrder } from '#apimachinery/apply/field-set.js';
import { sameItems } from '#apimachinery/equality.js';

/** Edges and the nodes behind them, by turns. */
export type NodeParts = (string | FieldSet)[];

interface Known {
  readonly base: FieldSet;
  readonly parts: readonly (string | FieldSet)[];
  readonly node: FieldSet;
}

const maxKnown = 8;
/** Larger nodes are hardly ever the same. */
const maxParts = 128;

/**
 * Gives the very node that it gave before for the same parts. Where all nodes of a set come from here, equal sets are one,
 * and what is made of a set (its JSON) is made once. Bounded: the last few are known.
 */
export class KnownNodes {
  readonly #known: Known[] = [];
  #next = 0;

  /** `base` with these parts besides, in order. Frozen, since it is shared. `parts` is taken over. */
  node(base: FieldSet, parts: NodeParts): FieldSet {
    for (const known of this.#known) if (known.base === base && sameItems(known.parts, parts)) return known.node;
    const made: Record<string, FieldSet> = Object.assign({}, base);
    for (let i = 0; i < parts.length; i += 2) made[parts[i] as string] = parts[i + 1] as FieldSet;
    const node = Object.freeze(inOrder(made));
    if (parts.length > maxParts) return node;
    this.#known[this.#next] = { base, parts, node };
    this.#next = (this.#next + 1) % maxKnown;
    return node;
  }
}
