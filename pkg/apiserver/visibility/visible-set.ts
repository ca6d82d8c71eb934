/** The visible namespaces of one user and resource: each is decided once, until roles or bindings of the user change. */
import type { PermissionChange } from '#apiserver/authorization/rbac/permission-changes.js';
import type { SubjectKey } from '#apiserver/authorization/rbac/subjects.js';
import type { VisibilityFollower, VisibleNamespaces } from '#apiserver/http/visible-namespaces.js';
import type { PermissionHistory } from '#apiserver/visibility/permission-history.js';
import type { Revision } from '#storage/store.js';

export interface VisibleSetOptions {
  /** All keys of the user, its name first. */
  readonly subjects: readonly SubjectKey[];
  /** Decides about a namespace, or about all if it is empty. */
  readonly allows: (namespace: string) => boolean;
  /** The namespaces that have objects of the resource. Throws if objects cannot be read. */
  readonly namespaces: () => Iterable<string>;
  readonly history: PermissionHistory;
  /** Called when the first follower comes, and when the last one leaves. */
  readonly followed: (set: VisibleSet, isFollowed: boolean) => void;
}

export class VisibleSet implements VisibleNamespaces {
  readonly #options: VisibleSetOptions;
  readonly #followers = new Set<VisibilityFollower>();
  #all: boolean | undefined;
  #decided = new Map<string, boolean>();

  constructor(options: VisibleSetOptions) {
    this.#options = options;
  }

  /** Number of decisions in memory. */
  get size(): number {
    return this.#decided.size;
  }

  /** Whether the user may see the objects of all namespaces. */
  get admitsAll(): boolean {
    this.#all ??= this.#options.allows('');
    return this.#all;
  }

  admits(namespace: string): boolean {
    if (this.admitsAll) return true;
    let decision = this.#decided.get(namespace);
    if (decision === undefined) {
      decision = this.#options.allows(namespace);
      this.#decided.set(namespace, decision);
    }
    return decision;
  }

  sent(revision: Revision): void {
    this.#options.history.sent(revision);
  }

  unsettled(revision: Revision): void {
    const { history, subjects } = this.#options;
    history.unsettled(subjects[0] ?? '', revision);
  }

  resumableFrom(): Revision {
    const { history, subjects } = this.#options;
    return history.since(subjects);
  }

  follow(follower: VisibilityFollower): () => void {
    this.#followers.add(follower);
    if (this.#followers.size === 1) this.#options.followed(this, true);
    return () => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.#options.followed(this, false);
    };
  }

  concerns({ subjects }: PermissionChange): boolean {
    return this.#options.subjects.some((subject) => subjects.has(subject));
  }

  /** Decides what followers may want to compare, while decisions are those from before the change. */
  changing({ namespace }: PermissionChange): void {
    if (this.#followers.size === 0 || this.admitsAll) return;
    if (namespace !== '') {
      this.admits(namespace);
      return;
    }
    try {
      for (const each of this.#options.namespaces()) this.admits(each);
    } catch (error) {
      for (const follower of this.#followers) follower.failed(error);
    }
  }

  /** Forgets the decisions that the change concerns, and informs the followers. */
  changed({ namespace }: PermissionChange): void {
    const all = this.#all === true;
    const decided = this.#decided;
    if (namespace === '') {
      this.#all = undefined;
      this.#decided = new Map();
    } else {
      const before = decided.get(namespace) === true;
      decided.delete(namespace);
      // A right in one namespace changes nothing for a user with the right in all.
      if (all) return;
      this.#inform({ namespace, admitted: () => before });
      return;
    }
    this.#inform({ namespace, admitted: (each) => all || decided.get(each) === true });
  }

  #inform(change: Parameters<VisibilityFollower['changed']>[0]): void {
    for (const follower of this.#followers) follower.changed(change);
  }
}
