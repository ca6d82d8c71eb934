/**
 * Lists and watches over all namespaces that answer with what the user may see (`visible=true`): which requests those are, and
 * the namespaces of each user and resource.
 */
import { rolebindings } from '#api/rbac/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { attributesOf } from '#apiserver/authorization/authorize.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { PermissionChange, PermissionFollower } from '#apiserver/authorization/rbac/permission-changes.js';
import type { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { userKeys } from '#apiserver/authorization/rbac/subjects.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { flag, type RequestInfo } from '#apiserver/http/request-info.js';
import type { VisibleNamespaces } from '#apiserver/http/visible-namespaces.js';
import { isNamespaces, type ServedResource, spansNamespaces } from '#apiserver/resources/served-resource.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import { namespacesIn } from '#apiserver/visibility/namespaces-in.js';
import { PermissionHistory } from '#apiserver/visibility/permission-history.js';
import { VisibleSet } from '#apiserver/visibility/visible-set.js';
import type { Store } from '#storage/store.js';

export interface VisibilityOptions {
  readonly dialect: Dialect;
  /** Decides at once, and differently only after changes of `index`. */
  readonly authorizer: Authorizer;
  /** Absent: decisions never change. */
  readonly index: Pick<RbacIndex, 'follow'> | undefined;
  readonly storages: Pick<ResourceStorages, 'stores' | 'storeAt' | 'storageOf'>;
}

/** Limit of the groups of a user whose namespaces stay in memory. */
const maxGroups = 1000;

/** Limit of users and resources whose namespaces are in memory. */
const maxSets = 512;
/** Limit of the decisions of all of them. */
const maxDecisions = 500_000;

/** True if the client wants what it may see of all namespaces. */
export function isVisibleRequest({ verb, resourceRequest, namespace, address, query }: RequestInfo): boolean {
  if (verb !== 'list' && verb !== 'watch') return false;
  return resourceRequest && namespace === '' && !address.named && flag(query, 'visible');
}

export class Visibility implements PermissionFollower {
  readonly #options: VisibilityOptions;
  /** Recently used sets, the latest last. */
  readonly #sets = new Map<string, VisibleSet>();
  readonly #followed = new Set<VisibleSet>();
  readonly #histories = new Map<Store, PermissionHistory>();
  #ready = false;

  constructor(options: VisibilityOptions) {
    this.#options = options;
  }

  /** Called once the roles and bindings are read. Rejects if a store does not answer. */
  async start(signal: AbortSignal): Promise<void> {
    const { storages, index } = this.#options;
    index?.follow(this);
    for (const store of storages.stores.all) {
      this.#histories.set(store, new PermissionHistory(await store.currentRevision(signal)));
    }
    this.#ready = true;
  }

  /**
   * The namespaces that a list or watch (see `isVisibleRequest`) answers from; undefined if it is to be authorized like any
   * other request: the user may list everything, is anonymous, or the resource has nothing in namespaces.
   */
  of(info: RequestInfo, user: UserInfo, resource: ServedResource): VisibleNamespaces | undefined {
    if (!this.#ready || !spansNamespaces(resource)) return undefined;
    if (!user.groups.includes(this.#options.dialect.groups.authenticated)) return undefined;
    const set = this.#set(info, user, resource);
    return info.verb === 'list' && set?.admitsAll === true ? undefined : set;
  }

  changing(change: PermissionChange): void {
    for (const set of this.#concerned(change)) set.changing(change);
  }

  changed(change: PermissionChange): void {
    const { storages } = this.#options;
    const home = storages.storeAt(storages.storageOf(rolebindings).prefix);
    for (const [store, history] of this.#histories) {
      history.changed(change.subjects, store === home ? change.revision : undefined);
    }
    for (const set of this.#concerned(change)) set.changed(change);
  }

  #concerned(change: PermissionChange): VisibleSet[] {
    const sets = new Set([...this.#sets.values(), ...this.#followed]);
    return [...sets].filter((set) => set.concerns(change));
  }

  #set(info: RequestInfo, user: UserInfo, resource: ServedResource): VisibleSet | undefined {
    if (user.groups.length > maxGroups) return this.#newSet(info, user, resource);
    const { group, version, resource: name, verb, name: object } = info;
    const place = [verb, group, version, name, object, resource.edition];
    const key = JSON.stringify([user.name, user.groups, user.uid, user.extra, ...place]);
    const cached = this.#sets.get(key);
    if (cached !== undefined) this.#sets.delete(key);
    const set = cached ?? this.#newSet(info, user, resource);
    if (set === undefined) return undefined;
    this.#makeRoom();
    this.#sets.set(key, set);
    return set;
  }

  #makeRoom(): void {
    let decisions = 0;
    for (const { size } of this.#sets.values()) decisions += size;
    for (const [key, { size }] of this.#sets) {
      if (this.#sets.size < maxSets && decisions <= maxDecisions) return;
      this.#sets.delete(key);
      decisions -= size;
    }
  }

  #newSet(info: RequestInfo, user: UserInfo, resource: ServedResource): VisibleSet | undefined {
    const history = this.#histories.get(this.#options.storages.storeAt(resource.storage.prefix));
    if (history === undefined) return undefined;
    return new VisibleSet({
      subjects: userKeys(user),
      allows: this.#decider(info, user, resource),
      namespaces: () => namespacesIn(resource.storage),
      history,
      followed: (set, isFollowed) => {
        if (isFollowed) this.#followed.add(set);
        else this.#followed.delete(set);
      },
    });
  }

  #decider(info: RequestInfo, user: UserInfo, { declaration }: ServedResource): (namespace: string) => boolean {
    const { authorizer } = this.#options;
    const attributes = attributesOf(info, user);
    const own = isNamespaces(declaration);
    // A namespace is inside itself, and is listed by those who may get it.
    const verb = own && info.verb === 'list' ? 'get' : info.verb;
    return (namespace) => {
      const inside = own ? { verb, namespace, name: namespace } : { namespace };
      const answer = authorizer.authorize(namespace === '' ? attributes : { ...attributes, ...inside });
      return !(answer instanceof Promise) && answer.decision === 'allow';
    };
  }
}
