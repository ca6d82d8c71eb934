/** Which of several stores the objects of a resource are in. */
import type { Store } from '#storage/store.js';

export interface StoreOverride {
  /** With its group, `deployments.apps` or `events`; `*.apps` is all of a group. */
  readonly resource: string;
  readonly store: Store;
}

export class ResourceStores {
  /** Of everything that has no other. */
  readonly main: Store;
  readonly #overrides: ReadonlyMap<string, Store>;

  /** Of two overrides of one resource the later counts. */
  constructor(main: Store, overrides: readonly StoreOverride[] = []) {
    this.main = main;
    this.#overrides = new Map(overrides.map(({ resource, store }) => [resource, store]));
  }

  /** `resource` without its group, which is empty for the core. */
  of(group: string, resource: string): Store {
    const named = (name: string) => this.#overrides.get(group === '' ? name : `${name}.${group}`);
    return named(resource) ?? named('*') ?? this.main;
  }

  /** Those beside the main one, each once. */
  get others(): readonly Store[] {
    return [...new Set(this.#overrides.values())].filter((store) => store !== this.main);
  }

  get all(): readonly Store[] {
    return [this.main, ...this.others];
  }

  /** The resources that are named, without those of whole groups. */
  get named(): readonly string[] {
    return [...this.#overrides.keys()].filter((name) => name !== '*' && !name.startsWith('*.'));
  }

  /** The main one stays open where it is somebody else's. */
  async close({ main }: { readonly main: boolean }): Promise<void> {
    await Promise.all((main ? this.all : this.others).map((store) => store.close()));
  }
}
