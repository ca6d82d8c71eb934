/**
 * Which node has which blocks: those that its object shows, and those that are set aside for it until it does. A node is
 * told from an earlier one of its name by its UID. What was set aside stays so until the node shows blocks or is gone,
 * whatever was answered to the write: an answer may be lost, and the write still land. Pure.
 */
import type { Node } from '#api/core/v1/types.gen.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { isOlder } from '#controllers/framework/written.js';
import type { CidrSet, Span } from '#controllers/nodeipam/cidr-set.js';

interface Holding {
  readonly uid: string;
  /** At this version the node was there: only a cache that has come as far can tell that it is gone. */
  readonly version: string;
  readonly blocks: readonly { readonly set: CidrSet; readonly span: Span }[];
}

export class NodeBlocks {
  readonly #sets: readonly CidrSet[];
  /** By name; more than one while it is not known that an earlier node is gone. */
  readonly #holdings = new Map<string, Holding[]>();

  /** `sets`: one for each family, the primary one first. */
  constructor(sets: readonly CidrSet[]) {
    this.#sets = sets;
  }

  get hasFree(): boolean {
    return this.#sets.every((set) => set.hasFree);
  }

  /**
   * The node exists. Blocks that it shows are its own from now on, in place of what was set aside for it. Returns those
   * that lie outside of the ranges, which nobody else is given either.
   */
  observe({ metadata, spec }: Node): string[] {
    const { name = '', uid = '', resourceVersion: version = '' } = metadata;
    const cidrs = spec.podCIDRs ?? [];
    const known = this.#of(name, uid);
    if (cidrs.length === 0 || (known !== undefined && isOlder(version, known.version))) return [];
    const outside: string[] = [];
    const blocks = cidrs.flatMap((cidr) => {
      const network = parseCIDR(cidr);
      for (const set of this.#sets) {
        const span = network && set.spanOf(network);
        if (span !== undefined) return [{ set, span }];
      }
      outside.push(cidr);
      return [];
    });
    this.#replace(name, uid, { uid, version, blocks });
    return outside;
  }

  /** Blocks for a node that has none: those set aside for it before, or new ones; undefined when a range has none left. */
  reserve({ metadata }: Node): string[] | undefined {
    const { name = '', uid = '', resourceVersion: version = '' } = metadata;
    let holding = this.#of(name, uid);
    if (holding === undefined) {
      if (!this.hasFree) return undefined;
      const blocks = this.#sets.flatMap((set) => {
        const span = set.take();
        return span === undefined ? [] : [{ set, span }];
      });
      holding = { uid, version, blocks };
      this.#holdings.set(name, [...(this.#holdings.get(name) ?? []), holding]);
    }
    return holding.blocks.map(({ set, span }) => set.cidr(span));
  }

  /**
   * Frees what nodes of that name had that are gone by the word of a cache which shows `current` and is at `version`.
   * False when it is not far enough to tell of all.
   */
  settle(name: string, current: Node | undefined, version: string): boolean {
    const others = (this.#holdings.get(name) ?? []).filter(({ uid }) => uid !== current?.metadata.uid);
    const gone = others.filter((holding) => !isOlder(version, holding.version));
    for (const { uid } of gone) this.#replace(name, uid, undefined);
    return gone.length === others.length;
  }

  #of(name: string, uid: string): Holding | undefined {
    return this.#holdings.get(name)?.find((holding) => holding.uid === uid);
  }

  #replace(name: string, uid: string, holding: Holding | undefined): void {
    const all = this.#holdings.get(name) ?? [];
    const rest = all.filter((each) => each.uid !== uid);
    if (holding !== undefined) rest.push(holding);
    // What stays is held all the while.
    for (const { set, span } of holding?.blocks ?? []) set.hold(span);
    for (const { set, span } of all.find((each) => each.uid === uid)?.blocks ?? []) set.free(span);
    if (rest.length > 0) this.#holdings.set(name, rest);
    else this.#holdings.delete(name);
  }
}
