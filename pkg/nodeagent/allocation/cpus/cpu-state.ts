/** Which processors belong to which containers. */
import { type CPUSet, difference, union } from '#nodeagent/allocation/cpus/cpu-set.js';

/** By pod UID and container name. */
export type CPUAssignments = ReadonlyMap<string, ReadonlyMap<string, CPUSet>>;

export class CPUState {
  #shared: CPUSet;
  readonly #assignments = new Map<string, Map<string, CPUSet>>();

  constructor(shared: CPUSet = new Set(), assignments: CPUAssignments = new Map()) {
    this.#shared = shared;
    for (const [uid, containers] of assignments) this.#assignments.set(uid, new Map(containers));
  }

  /** Processors of all containers without their own. */
  get shared(): CPUSet {
    return this.#shared;
  }

  get assignments(): CPUAssignments {
    return this.#assignments;
  }

  of(uid: string, container: string): CPUSet | undefined {
    return this.#assignments.get(uid)?.get(container);
  }

  share(cpus: CPUSet): void {
    this.#shared = cpus;
  }

  assign(uid: string, container: string, cpus: CPUSet): void {
    const containers = this.#assignments.get(uid) ?? new Map<string, CPUSet>();
    containers.set(container, cpus);
    this.#assignments.set(uid, containers);
    this.#shared = difference(this.#shared, cpus);
  }

  /** Processors that other containers of the pod also have stay theirs. */
  release(uid: string, container: string): void {
    const containers = this.#assignments.get(uid);
    const cpus = containers?.get(container);
    if (containers === undefined || cpus === undefined) return;
    containers.delete(container);
    if (containers.size === 0) this.#assignments.delete(uid);
    this.#shared = union(this.#shared, difference(cpus, union(...containers.values())));
  }
}
