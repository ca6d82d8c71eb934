/** The versions of one key, oldest first. */
import type { KeyValue, Revision } from '#storage/store.js';

/** A write to the key; without a pair it was a deletion. */
interface Version {
  readonly revision: Revision;
  readonly kv: KeyValue | undefined;
}

export class KeyHistory {
  readonly #versions: Version[] = [];

  get current(): KeyValue | undefined {
    return this.#versions[this.#versions.length - 1]?.kv;
  }

  add(revision: Revision, kv: KeyValue | undefined): void {
    this.#versions.push({ revision, kv });
  }

  /** The pair as it was at `revision`. */
  at(revision: Revision): KeyValue | undefined {
    for (let i = this.#versions.length - 1; i >= 0; i--) {
      const version = this.#versions[i];
      if (version !== undefined && version.revision <= revision) return version.kv;
    }
    return undefined;
  }

  /** Forgets what cannot be read at `revision` or later; true when nothing is left. */
  compact(revision: Revision): boolean {
    let keepFrom = 0;
    while ((this.#versions[keepFrom + 1]?.revision ?? revision + 1n) <= revision) keepFrom++;
    this.#versions.splice(0, keepFrom);
    const [oldest] = this.#versions;
    if (oldest !== undefined && oldest.kv === undefined && oldest.revision <= revision) this.#versions.shift();
    return this.#versions.length === 0;
  }
}
