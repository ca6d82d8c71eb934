/** Cache of all APIServices, for discovery and for routing to extension API servers. */
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { type RemoteService, remoteService } from '#apiserver/aggregation/remote-service.js';
import type { Follower } from '#apiserver/objects/object-reader.js';

type Listener = (name: string) => void;

export class ApiServices implements Follower<APIService> {
  readonly #objects = new Map<string, APIService>();
  readonly #remotes = new Map<string, RemoteService>();
  /** APIServices of extension API servers, by name. */
  readonly remotes: ReadonlyMap<string, RemoteService> = this.#remotes;
  /** Group → version → extension API server. */
  readonly #byGroup = new Map<string, Map<string, RemoteService>>();
  readonly #listeners: Listener[] = [];
  #generation = 0;

  /** Increases with each change, to invalidate derived values. */
  get generation(): number {
    return this.#generation;
  }

  /** The extension API server of the version; undefined if this server serves it, or none does. */
  find(group: string, version: string): RemoteService | undefined {
    return this.#byGroup.get(group)?.get(version);
  }

  get(name: string): APIService | undefined {
    return this.#objects.get(name);
  }

  values(): IterableIterator<APIService> {
    return this.#objects.values();
  }

  /** Called with the name of each APIService that is added, changed or removed. */
  listen(listener: Listener): void {
    this.#listeners.push(listener);
  }

  replaced(objects: readonly APIService[]): void {
    const names = new Set(objects.map(nameOf));
    for (const name of this.#objects.keys()) if (!names.has(name)) this.#drop(name);
    for (const object of objects) this.changed(object);
  }

  changed(object: APIService): void {
    const name = nameOf(object);
    this.#forget(name);
    this.#objects.set(name, object);
    const remote = remoteService(object);
    if (remote !== undefined) {
      this.#remotes.set(name, remote);
      const versions = this.#byGroup.get(remote.group) ?? new Map<string, RemoteService>();
      versions.set(remote.version, remote);
      this.#byGroup.set(remote.group, versions);
    }
    this.#notify(name);
  }

  removed(object: APIService): void {
    this.#drop(nameOf(object));
  }

  #drop(name: string): void {
    this.#forget(name);
    this.#objects.delete(name);
    this.#notify(name);
  }

  #forget(name: string): void {
    const old = this.#remotes.get(name);
    if (old === undefined) return;
    this.#remotes.delete(name);
    const versions = this.#byGroup.get(old.group);
    versions?.delete(old.version);
    if (versions?.size === 0) this.#byGroup.delete(old.group);
  }

  #notify(name: string): void {
    this.#generation += 1;
    for (const listener of this.#listeners) listener(name);
  }
}

function nameOf({ metadata }: APIService): string {
  return metadata.name ?? '';
}
