/**
 * Detects containers that the runtime has lost. A listing may be incomplete, so asks the runtime once for each
 * container that the API's status names before treating it as lost.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
import { ContradictionError, type StatusVerifier } from '#nodeagent/runtime/status-verifier.js';

export class LostContainers {
  readonly #verifier: Pick<StatusVerifier, 'container'>;
  /** IDs of containers in the API's status that the runtime no longer has. */
  readonly #lost = new Set<string>();

  constructor(verifier: Pick<StatusVerifier, 'container'>) {
    this.#verifier = verifier;
  }

  /** Throws ContradictionError if the runtime has a container that it does not list; throws CRIError. */
  async check({ status }: Pod, { containers }: PodRuntime): Promise<void> {
    const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
    for (const { containerID = '' } of [...containerStatuses, ...initContainerStatuses]) {
      const id = containerID.slice(containerID.indexOf('://') + 3);
      if (containerID === '' || this.#lost.has(id) || containers.some((each) => each.id === id)) continue;
      if ((await this.#verifier.container(id)) !== undefined)
        throw new ContradictionError(`the runtime has container ${id}, but does not list it`);
      this.#lost.add(id);
    }
  }
}
