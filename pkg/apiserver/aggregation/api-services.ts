/** All APIServices as this server knows them by now: what discovery lists, and which versions other servers serve. */
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import { type RemoteService, remoteService } from '#apiserver/aggregation/remote-service.js';
import type { Follower } from '#apiserver/objects/object-reader.js';

type Listener = (name: string) => void;

export class ApiServices implements Follower<APIService> {
  readonly #objects = new Map<string, APIService>();
  readonly #remotes = new Map<string, RemoteService>();
  /** Those that other servers serve, by name; empty while this server serves everything itself. */
  readonly remotes: ReadonlyMap<string, RemoteService> = this.#remotes;
  /** Group → version → who serves it. */
  readonly #byGroup = new Map<string, Map<string, RemoteService>>();
  readonly #listeners: Listener[] = [];
  #generation = 0;

  /** Grows with each change; what is derived from the objects can be kept until then. */
  get generation(): number {
    return this.#generation;
  }

  /** Who serves that version; undefined: this server, or nobody. */
  find(group: string, version: string): RemoteService | undefined {
    return this.#byGroup.get(group)?.get(version);
  }

  get(name: string): APIService | undefined {
    return this.#objects.get(name);
  }

  values(): IterableIterator<APIService> {
    return this.#objects.values();
  }

  /** Told the name of each APIService that comes, changes or goes. */
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
    this.#tell(name);
  }

  removed(object: APIService): void {
    this.#drop(nameOf(object));
  }

  #drop(name: string): void {
    this.#forget(name);
    this.#objects.delete(name);
    this.#tell(name);
  }

  #forget(name: string): void {
    const old = this.#remotes.get(name);
    if (old === undefined) return;
    this.#remotes.delete(name);
    const versions = this.#byGroup.get(old.group);
    versions?.delete(old.version);
    if (versions?.size === 0) this.#byGroup.delete(old.group);
  }

  #tell(name: string): void {
    this.#generation += 1;
    for (const listener of this.#listeners) listener(name);
  }
}

function nameOf({ metadata }: APIService): string {
  return metadata.name ?? '';
}
