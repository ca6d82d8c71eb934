/**
 * Combines the chains that owners contribute for one family, and compares them with the kernel's. Only changed chains
 * are written.
 */
import {
  type BaseChains,
  type Chain,
  type ChainChange,
  type Contribution,
  changeText,
  digestOf,
  type Entry,
  type Hook,
  type List,
} from '#proxy/iptables/chain.js';
import type { ChainListing, ListedChain } from '#proxy/iptables/listing.js';

interface Bucket {
  readonly entry: Entry;
  /** Rules by owner. */
  readonly rules: Map<string, readonly string[]>;
}

const nothing: Contribution = { chains: [], entries: [] };

export class ChainState {
  readonly base: BaseChains;
  readonly #contributions = new Map<string, Contribution>();
  /** By `table name`, with the number of contributors. */
  readonly #shared = new Map<string, { readonly chain: Chain; owners: number }>();
  readonly #lists: ReadonlyMap<string, List>;
  /** Buckets by list. */
  readonly #buckets: ReadonlyMap<string, Map<string, Bucket>>;
  readonly #dirtyBuckets = new Map<string, Entry>();
  /** All chains, once dirty buckets are assembled. */
  readonly #chains = new Map<string, Chain>();
  /** Chains that may differ from the kernel's, with the kernel's content; undefined: not in the kernel. */
  readonly #touched = new Map<string, Chain | undefined>();

  constructor(frame: BaseChains) {
    this.base = frame;
    this.#lists = new Map(frame.lists.map((list) => [list.name, list]));
    this.#buckets = new Map(frame.lists.map(({ name }) => [name, new Map<string, Bucket>()]));
    for (const chain of frame.chains) this.#set(chain);
    for (const list of frame.lists) this.#putList(list);
  }

  /** Replaces the owner's previous contribution; undefined removes it. */
  contribute(owner: string, contribution: Contribution | undefined): void {
    const old = this.#contributions.get(owner) ?? nothing;
    const now = contribution ?? nothing;
    for (const chain of now.chains) this.#claim(chain);
    for (const chain of old.chains) this.#unclaim(chain);
    const newEntries = byBucket(now.entries);
    for (const [id, entries] of byBucket(old.entries)) if (!newEntries.has(id)) this.#fill(owner, entries, []);
    for (const entries of newEntries.values()) {
      this.#fill(
        owner,
        entries,
        entries.map(({ rule }) => rule),
      );
    }
    if (contribution === undefined) this.#contributions.delete(owner);
    else this.#contributions.set(owner, contribution);
  }

  /** Commands for changes since the last call; undefined if none. Apply them, or call `differences`. */
  takeChange(): string | undefined {
    this.#putTogether();
    const written: Chain[] = [];
    const deleted: Chain[] = [];
    for (const [key, before] of this.#touched) {
      const now = this.#chains.get(key);
      if (now === undefined) {
        if (before !== undefined) deleted.push(before);
      } else if (before === undefined || !isSame(before, now)) written.push(now);
    }
    this.#touched.clear();
    return changeText({ written, deleted, addedHooks: [], deletedHooks: [] });
  }

  /**
   * Commands that bring the kernel from the listing to this state; undefined if equal. `takeChange` continues from
   * there.
   */
  differences({ chains, hooks }: ChainListing): string | undefined {
    this.#putTogether();
    this.#touched.clear();
    const written = [...this.#chains].flatMap(([key, chain]) => {
      return isListed(chain, chains.get(key)) ? [] : [chain];
    });
    const deleted = [...chains].flatMap(([key, chain]) => (this.#chains.has(key) ? [] : [chain]));
    const change: ChainChange = { written, deleted, ...hookChanges(this.base.hooks, hooks) };
    return changeText(change);
  }

  #claim(chain: Chain): void {
    const key = keyOf(chain);
    const shared = this.#shared.get(key);
    this.#shared.set(key, { chain, owners: (shared?.owners ?? 0) + 1 });
    this.#set(chain);
  }

  #unclaim(chain: Chain): void {
    const key = keyOf(chain);
    const shared = this.#shared.get(key);
    if (shared === undefined) return;
    shared.owners--;
    if (shared.owners > 0) return;
    this.#shared.delete(key);
    this.#remove(key);
  }

  #fill(owner: string, [entry]: readonly Entry[], rules: readonly string[]): void {
    const buckets = entry && this.#buckets.get(entry.list);
    if (entry === undefined || buckets === undefined) return;
    const bucket: Bucket = buckets.get(entry.bucket) ?? { entry, rules: new Map<string, readonly string[]>() };
    const before = bucket.rules.get(owner) ?? [];
    if (before.length === rules.length && before.every((rule, place) => rule === rules[place])) return;
    buckets.set(entry.bucket, bucket);
    if (rules.length === 0) bucket.rules.delete(owner);
    else bucket.rules.set(owner, rules);
    this.#dirtyBuckets.set(`${entry.list} ${entry.bucket}`, entry);
  }

  #putTogether(): void {
    const lists = new Set<List>();
    for (const { bucket: name, list: of } of this.#dirtyBuckets.values()) {
      const list = this.#lists.get(of);
      const bucket = this.#buckets.get(of)?.get(name);
      if (list === undefined || bucket === undefined) continue;
      const chain = { table: list.table, name };
      if (bucket.rules.size === 0) {
        this.#buckets.get(of)?.delete(name);
        this.#remove(keyOf(chain));
        lists.add(list);
        continue;
      }
      if (!this.#chains.has(keyOf(chain))) lists.add(list);
      // If two owners want the same packets, the first by name wins.
      const owners = [...bucket.rules.keys()].sort();
      this.#set({ ...chain, rules: owners.flatMap((owner) => bucket.rules.get(owner) ?? []) });
    }
    this.#dirtyBuckets.clear();
    for (const list of lists) this.#putList(list);
  }

  #putList({ after, before, name, table }: List): void {
    const buckets = [...(this.#buckets.get(name)?.values() ?? [])].map(({ entry }) => entry);
    const jumps = buckets.map(({ bucket, match }) => `${match} -j ${bucket}`).sort();
    this.#set({ table, name, rules: [...before, ...jumps, ...after] });
  }

  #set(chain: Chain): void {
    const key = keyOf(chain);
    this.#touch(key);
    this.#chains.set(key, chain);
  }

  #remove(key: string): void {
    this.#touch(key);
    this.#chains.delete(key);
  }

  #touch(key: string): void {
    if (!this.#touched.has(key)) this.#touched.set(key, this.#chains.get(key));
  }
}

function keyOf({ name, table }: Pick<Chain, 'table' | 'name'>): string {
  return `${table} ${name}`;
}

function isSame(a: Chain, b: Chain): boolean {
  return a === b || (a.rules.length === b.rules.length && a.rules.every((rule, place) => rule === b.rules[place]));
}

function isListed({ rules }: Chain, listed: ListedChain | undefined): boolean {
  if (listed?.rules !== rules.length) return false;
  return rules.length === 0 || listed.digest === digestOf(rules);
}

function byBucket(entries: readonly Entry[]): Map<string, Entry[]> {
  const buckets = new Map<string, Entry[]>();
  for (const entry of entries) {
    const id = `${entry.list} ${entry.bucket}`;
    const bucket = buckets.get(id);
    if (bucket === undefined) buckets.set(id, [entry]);
    else bucket.push(entry);
  }
  return buckets;
}

/** Each hook must exist once. */
function hookChanges(
  expected: readonly Hook[],
  listed: readonly Hook[],
): Pick<ChainChange, 'addedHooks' | 'deletedHooks'> {
  const text = ({ from, table, to }: Hook) => `${table} ${from} ${to}`;
  const missing = new Map(expected.map((hook) => [text(hook), hook]));
  const deletedHooks = listed.filter((hook) => !missing.delete(text(hook)));
  return { addedHooks: [...missing.values()], deletedHooks };
}
