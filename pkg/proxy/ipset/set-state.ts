/**
 * Combines the members that owners contribute to sets, and compares them with the kernel's sets. The cost of a change
 * depends only on its own size.
 */
import type { Family } from '#proxy/services/proxy-settings.js';

/** A set of addresses, or of addresses with ports. */
export interface MemberSet {
  readonly name: string;
  readonly family: Family;
  readonly type: 'hash:ip' | 'hash:ip,port';
}

export interface Member {
  readonly set: string;
  /** Canonical: `10.244.0.5`, or `10.244.0.5,tcp:8080`. */
  readonly key: string;
}

/** Members by set. */
export type SetListing = ReadonlyMap<string, ReadonlySet<string>>;

export interface SetChange {
  /** These sets are emptied before members are added. */
  readonly created: readonly MemberSet[];
  readonly added: readonly Member[];
  readonly removed: readonly Member[];
  /** Names. Old rules may refer to them until the rules have changed. */
  readonly destroyed: readonly string[];
}

export class SetState {
  #declared: ReadonlyMap<string, MemberSet> = new Map<string, MemberSet>();
  /** Sets in the kernel after the last change. */
  #kernelSets: ReadonlySet<string> = new Set<string>();
  readonly #contributions = new Map<string, readonly Member[]>();
  /** Set → member → number of contributions. */
  readonly #members = new Map<string, Map<string, number>>();
  /** Set → member touched since the last change → whether it was a member before. */
  readonly #touched = new Map<string, Map<string, boolean>>();

  /** Sets that must exist. */
  declare(sets: readonly MemberSet[]): void {
    this.#declared = new Map(sets.map((set) => [set.name, set]));
  }

  /** Replaces the owner's previous contribution. */
  contribute(owner: string, members: readonly Member[]): void {
    for (const member of members) this.#count(member, 1);
    for (const member of this.#contributions.get(owner) ?? []) this.#count(member, -1);
    if (members.length === 0) this.#contributions.delete(owner);
    else this.#contributions.set(owner, members);
  }

  members(set: string): string[] {
    return [...(this.#members.get(set)?.keys() ?? [])];
  }

  /** Names of sets whose members may have changed since the last change. */
  touched(): ReadonlySet<string> {
    return new Set(this.#touched.keys());
  }

  /** Changes since the last call; undefined if none. */
  takeChange(): SetChange | undefined {
    const created = [...this.#declared.values()].filter(({ name }) => !this.#kernelSets.has(name));
    const added = created.flatMap(({ name }) => this.#all(name));
    const removed: Member[] = [];
    for (const [set, touched] of this.#touched) {
      if (!this.#kernelSets.has(set) || !this.#declared.has(set)) continue;
      for (const [key, was] of touched) {
        const is = this.#members.get(set)?.has(key) ?? false;
        if (is !== was) (is ? added : removed).push({ set, key });
      }
    }
    const destroyed = [...this.#kernelSets].filter((name) => !this.#declared.has(name));
    return this.#finish({ created, added, removed, destroyed });
  }

  /** Changes from the listed to the declared sets; undefined if none. `takeChange` continues from there. */
  differences(listing: SetListing): SetChange | undefined {
    const created: MemberSet[] = [];
    const added: Member[] = [];
    const removed: Member[] = [];
    for (const set of this.#declared.values()) {
      const listed = listing.get(set.name);
      if (listed === undefined) created.push(set);
      const members = this.#members.get(set.name);
      added.push(...this.#all(set.name).filter(({ key }) => listed?.has(key) !== true));
      for (const key of listed ?? []) if (members?.has(key) !== true) removed.push({ set: set.name, key });
    }
    const destroyed = [...listing.keys()].filter((name) => !this.#declared.has(name));
    return this.#finish({ created, added, removed, destroyed });
  }

  #finish(change: SetChange): SetChange | undefined {
    this.#touched.clear();
    this.#kernelSets = new Set(this.#declared.keys());
    return Object.values(change).every((part: readonly unknown[]) => part.length === 0) ? undefined : change;
  }

  #all(set: string): Member[] {
    return this.members(set).map((key) => ({ set, key }));
  }

  #count({ key, set }: Member, by: 1 | -1): void {
    const members = this.#members.get(set) ?? new Map<string, number>();
    const before = members.get(key) ?? 0;
    const touched = this.#touched.get(set) ?? new Map<string, boolean>();
    if (!touched.has(key)) touched.set(key, before > 0);
    this.#touched.set(set, touched);
    this.#members.set(set, members);
    if (before + by > 0) members.set(key, before + by);
    else members.delete(key);
    if (members.size === 0) this.#members.delete(set);
  }
}
