/**
 * Tracks the blocks of each node (by name and UID): blocks in its object, or reserved blocks until the object shows some.
 * A reservation ends only when the node shows blocks or is deleted, because a failed write may still have taken effect.
 * Pure.
 */
import type { Node } from '#api/core/v1/types.gen.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { isOlder } from '#controllers/framework/written-objects.js';
import type { CidrSet, Span } from '#controllers/nodeipam/cidr-set.js';

interface Holding {
  readonly uid: string;
  /** The node existed at this version: only a cache at least as new can show that it is deleted. */
  readonly version: string;
  readonly blocks: readonly { readonly set: CidrSet; readonly span: Span }[];
}

export class NodeBlocks {
  readonly #sets: readonly CidrSet[];
  /** By name; several entries while an earlier node with the name may still exist. */
  readonly #holdings = new Map<string, Holding[]>();

  /** `sets`: one per family, the primary family first. */
  constructor(sets: readonly CidrSet[]) {
    this.#sets = sets;
  }

  get hasFree(): boolean {
    return this.#sets.every((set) => set.hasFree);
  }

  /**
   * Records an existing node. Blocks in its object replace its reservation. Returns the CIDRs outside of the ranges, which
   * are never allocated.
   */
  observe({ metadata, spec }: Node): string[] {
    const { name = '', uid = '', resourceVersion: version = '' } = metadata;
    const cidrs = spec.podCIDRs ?? [];
    const current = this.#find(name, uid);
    if (cidrs.length === 0 || (current !== undefined && isOlder(version, current.version))) return [];
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

  /** Returns the node's reservation, or reserves blocks; undefined when a range has no free block. */
  reserve({ metadata }: Node): string[] | undefined {
    const { name = '', uid = '', resourceVersion: version = '' } = metadata;
    let holding = this.#find(name, uid);
    if (holding === undefined) {
      if (!this.hasFree) return undefined;
      const blocks = this.#sets.flatMap((set) => {
        const span = set.allocate();
        return span === undefined ? [] : [{ set, span }];
      });
      holding = { uid, version, blocks };
      this.#holdings.set(name, [...(this.#holdings.get(name) ?? []), holding]);
    }
    return holding.blocks.map(({ set, span }) => set.cidr(span));
  }

  /**
   * Frees the blocks of deleted nodes with the name. The cache shows `current` and is at `version`. False when the cache
   * is too old to show whether all earlier nodes are deleted.
   */
  freeDeleted(name: string, current: Node | undefined, version: string): boolean {
    const others = (this.#holdings.get(name) ?? []).filter(({ uid }) => uid !== current?.metadata.uid);
    const deleted = others.filter((holding) => !isOlder(version, holding.version));
    for (const { uid } of deleted) this.#replace(name, uid, undefined);
    return deleted.length === others.length;
  }

  #find(name: string, uid: string): Holding | undefined {
    return this.#holdings.get(name)?.find((holding) => holding.uid === uid);
  }

  #replace(name: string, uid: string, holding: Holding | undefined): void {
    const all = this.#holdings.get(name) ?? [];
    const rest = all.filter((each) => each.uid !== uid);
    if (holding !== undefined) rest.push(holding);
    // Hold the new blocks before freeing the old ones, so that common blocks stay in use.
    for (const { set, span } of holding?.blocks ?? []) set.hold(span);
    for (const { set, span } of all.find((each) => each.uid === uid)?.blocks ?? []) set.free(span);
    if (rest.length > 0) this.#holdings.set(name, rest);
    else this.#holdings.delete(name);
  }
}
