/**
 * Since which revision the permissions of each subject are the same. Objects and permissions come through different watches
 * of the store, so that clients may have been sent newer objects before a change of permissions was noticed: then it counts
 * as one after those objects. Pure.
 */
import type { SubjectKey } from '#apiserver/authorization/rbac/subjects.js';
import type { Revision } from '#storage/store.js';

/** Limit of subjects; above it all have changed. */
const maxSubjects = 10_000;

export class PermissionHistory {
  /** Nothing is known of earlier changes. */
  #floor: Revision;
  /** The newest revision that a client has been sent. */
  #sent: Revision = 0n;
  /** The newest revision of a change. */
  #newest: Revision;
  readonly #changes = new Map<SubjectKey, Revision>();

  constructor(floor: Revision) {
    this.#floor = floor;
    this.#newest = floor;
  }

  sent(revision: Revision): void {
    if (revision > this.#sent) this.#sent = revision;
  }

  /** `revision`: undefined if it is not known, or one of another store. */
  changed(subjects: Iterable<SubjectKey>, revision: Revision | undefined): void {
    const after = revision === undefined || revision <= this.#sent ? this.#sent + 1n : revision;
    const at = revision === undefined && this.#newest >= after ? this.#newest : after;
    this.#newest = at > this.#newest ? at : this.#newest;
    for (const subject of subjects) this.#record(subject, at);
  }

  /** The subject has been sent this revision before a change of its permissions. */
  unsettled(subject: SubjectKey, revision: Revision): void {
    this.sent(revision);
    this.#record(subject, revision + 1n);
  }

  /** The oldest revision since which the permissions of these subjects are the same. */
  since(subjects: readonly SubjectKey[]): Revision {
    let since = this.#floor;
    const take = (revision: Revision | undefined) => {
      if (revision !== undefined && revision > since) since = revision;
    };
    // A user may be in hundreds of thousands of groups.
    if (subjects.length <= this.#changes.size) for (const subject of subjects) take(this.#changes.get(subject));
    else {
      const all = new Set(subjects);
      for (const [subject, revision] of this.#changes) if (all.has(subject)) take(revision);
    }
    return since;
  }

  #record(subject: SubjectKey, revision: Revision): void {
    const earlier = this.#changes.get(subject);
    if (earlier !== undefined && earlier >= revision) return;
    this.#changes.set(subject, revision);
    if (this.#changes.size <= maxSubjects) return;
    for (const each of this.#changes.values()) if (each > this.#floor) this.#floor = each;
    this.#changes.clear();
  }
}
