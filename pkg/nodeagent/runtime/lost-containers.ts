/**
 * Whether what a pod had is really lost. A listing may lack what is there, and an agent that is new has nothing else to go
 * by: what an earlier one has told the API of is asked for, once, before it is thought gone.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { PodRuntime } from '#nodeagent/runtime/pod-runtime.js';
import { ContradictionError, type Inquiry } from '#nodeagent/runtime/status-verifier.js';

export class LostContainers {
  readonly #inquiry: Pick<Inquiry, 'container'>;
  /** Ids of containers that the API knows of, and the runtime has no more. */
  readonly #lost = new Set<string>();

  constructor(inquiry: Pick<Inquiry, 'container'>) {
    this.#inquiry = inquiry;
  }

  /** Throws ContradictionError where the runtime has something of the pod that it does not list, and CRIError. */
  async check({ status }: Pod, { containers }: PodRuntime): Promise<void> {
    const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
    for (const { containerID = '' } of [...containerStatuses, ...initContainerStatuses]) {
      const id = containerID.slice(containerID.indexOf('://') + 3);
      if (containerID === '' || this.#lost.has(id) || containers.some((each) => each.id === id)) continue;
      if ((await this.#inquiry.container(id)) !== undefined)
        throw new ContradictionError(`the runtime does not list ${id}, which it has`);
      this.#lost.add(id);
    }
  }
}
