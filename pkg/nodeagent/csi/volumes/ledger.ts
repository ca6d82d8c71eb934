/** What pods need of the drivers on this node, and what the drivers have staged. In memory only. */

/** A volume that a driver has staged, or may have. */
export interface StagedVolume {
  readonly driver: string;
  readonly handle: string;
  readonly isBlock: boolean;
  /** The persistent volume's name; known for devices. */
  readonly specName: string;
}

interface Staging {
  readonly volume: StagedVolume;
  /** False after an operation with an unknown result, and after a restart of the agent. */
  readonly isCertain: boolean;
}

/** Keys are the unique names of volumes. */
export class VolumeLedger {
  readonly #users = new Map<string, Set<string>>();
  readonly #staged = new Map<string, Staging>();

  /** The pod needs the volume from now on. True if no other pod does. */
  use(key: string, uid: string): boolean {
    const users = this.#users.get(key) ?? new Set<string>();
    this.#users.set(key, users.add(uid));
    return users.size === 1;
  }

  /** The driver no longer has the volume published for the pod. True if it was the last one. */
  release(key: string, uid: string): boolean {
    const users = this.#users.get(key);
    if (users?.delete(uid) !== true || users.size > 0) return false;
    this.#users.delete(key);
    return true;
  }

  isUsed(key: string): boolean {
    return this.#users.has(key);
  }

  /** The volumes that a pod needs. */
  usedBy(uid: string): string[] {
    return [...this.#users].filter(([, users]) => users.has(uid)).map(([key]) => key);
  }

  stage(key: string, volume: StagedVolume, { isCertain }: { readonly isCertain: boolean }): void {
    this.#staged.set(key, { volume, isCertain });
  }

  unstage(key: string): void {
    this.#staged.delete(key);
  }

  /** Undefined if nothing has to be unstaged. */
  staging(key: string): Staging | undefined {
    return this.#staged.get(key);
  }

  /** Staged volumes that no pod needs. */
  unused(): string[] {
    return [...this.#staged.keys()].filter((key) => !this.#users.has(key));
  }

  /** All volumes that pods need or drivers have. */
  keys(): string[] {
    return [...new Set([...this.#users.keys(), ...this.#staged.keys()])].sort();
  }
}
