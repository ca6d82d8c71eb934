/**
 * The namespaces of which a user may see the objects of one resource, for a list or watch over all namespaces that answers with
 * those (`visible=true`).
 */
import type { Revision } from '#storage/store.js';

export interface VisibleNamespaces {
  /** Whether the objects of the namespace are visible now. */
  admits(namespace: string): boolean;
  /** Clients have been sent events or a list up to this revision. */
  sent(revision: Revision): void;
  /** As `sent`, but a change of permissions came first that the client has not been told of yet. */
  unsettled(revision: Revision): void;
  /** The oldest revision since which the permissions of the user are the same; watches from before must list again. */
  resumableFrom(): Revision;
  /** Informs the follower of changes until the returned function is called. */
  follow(follower: VisibilityFollower): () => void;
}

/** A change of permissions. */
export interface VisibilityChange {
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** Whether the objects of a namespace were visible before the change, for each namespace that has objects. */
  admitted(namespace: string): boolean;
}

export interface VisibilityFollower {
  changed(change: VisibilityChange): void;
  /** The change cannot be followed. */
  failed(error: unknown): void;
}
