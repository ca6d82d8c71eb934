/**
 * Combines what owners contribute to a table, and compares it with the kernel's table. The cost of a change depends
 * only on its own size.
 */

import type { TableListing } from '#proxy/nft/listing.js';
import {
  type BaseTable,
  type Contribution,
  changeText,
  isEmptyChange,
  type NftChain,
  type NftElement,
  type NftSet,
  type TableChange,
  versionChain,
} from '#proxy/nft/table.js';

/** Claims of one element, sorted by owner: if they want different data, the first wins. */
interface Claim {
  readonly owner: string;
  readonly element: NftElement;
  next: Claim | undefined;
}

interface Counted<T> {
  readonly value: T;
  owners: number;
}

const nothing: Contribution = { elements: [], chains: [] };

export class TableState {
  readonly base: BaseTable;
  readonly #contributions = new Map<string, Contribution>();
  /** Set → key → first claim. */
  readonly #claims = new Map<string, Map<string, Claim>>();
  readonly #chains = new Map<string, Counted<NftChain>>();
  readonly #sets = new Map<string, Counted<NftSet>>();
  /** The kernel's content of elements touched since the last change; undefined: not in the kernel. */
  readonly #touched = new Map<string, Map<string, NftElement | undefined>>();
  readonly #touchedChains = new Map<string, boolean>();
  readonly #touchedSets = new Map<string, boolean>();

  constructor(frame: BaseTable) {
    this.base = frame;
  }

  /** Replaces the owner's previous contribution; undefined removes it. */
  contribute(owner: string, contribution: Contribution | undefined): void {
    const old = this.#contributions.get(owner) ?? nothing;
    const now = contribution ?? nothing;
    const kept = new Set<NftElement>();
    const before = new Map(old.elements.map((element) => [`${element.set} ${element.key}`, element]));
    for (const element of now.elements) {
      const existing = before.get(`${element.set} ${element.key}`);
      if (existing !== undefined && existing.data === element.data && !kept.has(existing)) kept.add(existing);
      else this.#claim(owner, element);
    }
    for (const element of old.elements) if (!kept.has(element)) this.#unclaim(owner, element);
    for (const set of now.sets ?? []) count(this.#sets, this.#touchedSets, set);
    for (const chain of now.chains) count(this.#chains, this.#touchedChains, chain);
    for (const { name } of old.chains) discount(this.#chains, this.#touchedChains, name);
    for (const { name } of old.sets ?? []) discount(this.#sets, this.#touchedSets, name);
    if (contribution === undefined) this.#contributions.delete(owner);
    else this.#contributions.set(owner, { ...now, elements: this.#sharedWith(now.elements, before, kept) });
  }

  /** Commands for changes since the last call; undefined if none. Apply them, or call `differences`. */
  takeChange(): string | undefined {
    const change = this.#change();
    this.#forgetTouched();
    return isEmptyChange(change) ? undefined : changeText(this.base.name, change);
  }

  /** Commands that bring the kernel's table to this state; undefined if equal. `takeChange` continues from there. */
  differences(listing: TableListing | undefined): string | undefined {
    this.#forgetTouched();
    if (listing === undefined || !this.#hasBase(listing)) {
      const begin = listing === undefined ? '' : `delete table inet ${this.base.name}\n`;
      return `${begin}add table inet ${this.base.name}\n${changeText(this.base.name, this.#everything())}`;
    }
    const change = this.#compare(listing);
    return isEmptyChange(change) ? undefined : changeText(this.base.name, change);
  }

  #forgetTouched(): void {
    this.#touched.clear();
    this.#touchedChains.clear();
    this.#touchedSets.clear();
  }

  /** Keeps unchanged element objects, because claims refer to them. */
  #sharedWith(
    elements: readonly NftElement[],
    before: ReadonlyMap<string, NftElement>,
    kept: ReadonlySet<NftElement>,
  ): NftElement[] {
    return elements.map((element) => {
      const existing = before.get(`${element.set} ${element.key}`);
      return existing !== undefined && kept.has(existing) ? existing : element;
    });
  }

  #claim(owner: string, element: NftElement): void {
    const claims = this.#claims.get(element.set) ?? new Map<string, Claim>();
    this.#claims.set(element.set, claims);
    const first = claims.get(element.key);
    this.#touch(element, first?.element);
    const claim: Claim = { owner, element, next: undefined };
    if (first === undefined || owner <= first.owner) {
      claim.next = first;
      claims.set(element.key, claim);
      return;
    }
    let at = first;
    while (at.next !== undefined && at.next.owner < owner) at = at.next;
    claim.next = at.next;
    at.next = claim;
  }

  #unclaim(owner: string, element: NftElement): void {
    const claims = this.#claims.get(element.set);
    const first = claims?.get(element.key);
    if (claims === undefined || first === undefined) return;
    this.#touch(element, first.element);
    if (first.owner === owner && first.element === element) {
      if (first.next === undefined) claims.delete(element.key);
      else claims.set(element.key, first.next);
      return;
    }
    for (let at = first; at.next !== undefined; at = at.next) {
      if (at.next.owner !== owner || at.next.element !== element) continue;
      at.next = at.next.next;
      return;
    }
  }

  #touch({ set, key }: NftElement, before: NftElement | undefined): void {
    const touched = this.#touched.get(set) ?? new Map<string, NftElement | undefined>();
    this.#touched.set(set, touched);
    if (!touched.has(key)) touched.set(key, before);
  }

  #change(): TableChange {
    const addElements: NftElement[] = [];
    const deleteElements: NftElement[] = [];
    const goingSets = new Set(
      [...this.#touchedSets].flatMap(([name, was]) => (was && !this.#sets.has(name) ? name : [])),
    );
    for (const [set, touched] of this.#touched) {
      if (goingSets.has(set)) continue;
      for (const [key, before] of touched) {
        const now = this.#claims.get(set)?.get(key)?.element;
        if (before?.data === now?.data) continue;
        if (before !== undefined) deleteElements.push(before);
        if (now !== undefined) addElements.push(now);
      }
    }
    return {
      addSets: appeared(this.#touchedSets, this.#sets),
      addChains: appeared(this.#touchedChains, this.#chains),
      deleteElements,
      addElements,
      deleteChains: [...this.#touchedChains].flatMap(([name, was]) => (was && !this.#chains.has(name) ? name : [])),
      deleteSets: [...goingSets],
    };
  }

  #everything(): TableChange {
    const elements: NftElement[] = [];
    for (const claims of this.#claims.values()) for (const { element } of claims.values()) elements.push(element);
    return {
      addSets: [...this.base.sets, ...[...this.#sets.values()].map(({ value }) => value)],
      addChains: this.#allChains(),
      deleteElements: [],
      addElements: elements,
      deleteChains: [],
      deleteSets: [],
    };
  }

  #allChains(): NftChain[] {
    const version: NftChain = { name: versionChain(this.base), rules: [] };
    return [version, ...this.base.chains, ...[...this.#chains.values()].map(({ value }) => value)];
  }

  #hasBase({ sets, chains }: TableListing): boolean {
    return (
      chains.has(versionChain(this.base)) &&
      this.base.sets.every(({ name }) => sets.has(name)) &&
      this.base.chains.every(({ name, rules }) => chains.get(name) === rules.length)
    );
  }

  #compare(listing: TableListing): TableChange {
    const addElements: NftElement[] = [];
    const deleteElements: NftElement[] = [];
    const sets = [...this.base.sets, ...[...this.#sets.values()].map(({ value }) => value)];
    const expected = new Set(sets.map(({ name }) => name));
    for (const { name: set, isDynamic } of sets) {
      if (isDynamic === true) continue;
      const claims = this.#claims.get(set) ?? new Map<string, Claim>();
      const listed = listing.sets.get(set) ?? new Map<string, string>();
      for (const [key, { element }] of claims) {
        const data = listed.get(key);
        if (data === element.data) continue;
        if (data !== undefined) deleteElements.push(element);
        addElements.push(element);
      }
      for (const [key, data] of listed) if (!claims.has(key)) deleteElements.push({ set, key, data });
    }
    const chains = this.#allChains();
    const names = new Set(chains.map(({ name }) => name));
    return {
      addSets: [...this.#sets.values()].flatMap(({ value }) => (listing.sets.has(value.name) ? [] : value)),
      addChains: chains.filter(({ name, rules }) => listing.chains.get(name) !== rules.length),
      deleteElements,
      addElements,
      deleteChains: [...listing.chains.keys()].filter((name) => !names.has(name)),
      deleteSets: [...listing.sets.keys()].filter((name) => !expected.has(name)),
    };
  }
}

function count<T extends { readonly name: string }>(
  all: Map<string, Counted<T>>,
  touched: Map<string, boolean>,
  value: T,
): void {
  const counted = all.get(value.name);
  if (counted !== undefined) counted.owners++;
  else {
    if (!touched.has(value.name)) touched.set(value.name, false);
    all.set(value.name, { value, owners: 1 });
  }
}

function discount<T>(all: Map<string, Counted<T>>, touched: Map<string, boolean>, name: string): void {
  const counted = all.get(name);
  if (counted === undefined) return;
  counted.owners--;
  if (counted.owners > 0) return;
  if (!touched.has(name)) touched.set(name, true);
  all.delete(name);
}

function appeared<T>(touched: ReadonlyMap<string, boolean>, all: ReadonlyMap<string, Counted<T>>): T[] {
  return [...touched].flatMap(([name, was]) => {
    const now = all.get(name);
    return !was && now !== undefined ? [now.value] : [];
  });
}
