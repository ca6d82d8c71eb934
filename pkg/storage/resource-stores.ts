/** Assigns resources to stores. */
import type { Store } from '#storage/store.js';

export interface StoreOverride {
  /** Resource with group, `deployments.apps` or `events`; `*.apps` is a whole group. */
  readonly resource: string;
  readonly store: Store;
}

export class ResourceStores {
  /** Store of all other resources. */
  readonly main: Store;
  readonly #overrides: ReadonlyMap<string, Store>;

  /** The last override of a resource counts. */
  constructor(main: Store, overrides: readonly StoreOverride[] = []) {
    this.main = main;
    this.#overrides = new Map(overrides.map(({ resource, store }) => [resource, store]));
  }

  /** `resource` without group; the core group is empty. */
  of(group: string, resource: string): Store {
    const named = (name: string) => this.#overrides.get(group === '' ? name : `${name}.${group}`);
    return named(resource) ?? named('*') ?? this.main;
  }

  /** Stores besides the main one, without duplicates. */
  get others(): readonly Store[] {
    return [...new Set(this.#overrides.values())].filter((store) => store !== this.main);
  }

  get all(): readonly Store[] {
    return [this.main, ...this.others];
  }

  /** Resources with an override, except whole groups. */
  get named(): readonly string[] {
    return [...this.#overrides.keys()].filter((name) => name !== '*' && !name.startsWith('*.'));
  }

  /** `main`: whether to close the main store, too. */
  async close({ main }: { readonly main: boolean }): Promise<void> {
    await Promise.all((main ? this.all : this.others).map((store) => store.close()));
  }
}
