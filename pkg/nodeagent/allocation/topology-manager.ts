/** Aligns the resources of containers or pods to NUMA nodes by policy, as 1.24 does (cm/topologymanager). */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { AllocationError, type AllocationProvider } from '#nodeagent/allocation/provider.js';
import { alignment, type TopologyPolicy } from '#nodeagent/allocation/topology/alignment.js';
import type { TopologyHint } from '#nodeagent/allocation/topology/hint.js';

export type TopologyScope = 'container' | 'pod';

export interface TopologyManagerOptions {
  readonly policy: TopologyPolicy;
  /** What is aligned to the same nodes. */
  readonly scope: TopologyScope;
  /** IDs of the machine's NUMA nodes. */
  readonly nodes: readonly number[];
}

/** More nodes have too many subsets; limit of 1.24. */
const maxNodes = 8;
/** Reason and message of 1.24. */
const notAligned = ['TopologyAffinityError', 'Resources cannot be allocated with Topology locality'] as const;
/** Without a policy. */
const anyNodes: TopologyHint = { preferred: false };

interface AdmissionSteps {
  readonly providers: readonly AllocationProvider[];
  /** Called before hints and allocations. */
  readonly beforeEach: () => void;
}

export class TopologyManager {
  readonly #options: TopologyManagerOptions;

  /** Throws if the policy does not support so many nodes. */
  constructor(options: TopologyManagerOptions) {
    if (options.policy !== 'none' && options.nodes.length > maxNodes) {
      throw new Error(`unsupported on machines with more than ${maxNodes} NUMA Nodes`);
    }
    this.#options = options;
  }

  /** Lets the providers allocate for all containers. Throws AllocationError, or an error of a provider. */
  async admit(pod: Pod, containers: readonly Container[], { providers, beforeEach }: AdmissionSteps): Promise<void> {
    const { policy, scope } = this.#options;
    const align = (hints: (provider: AllocationProvider) => ReturnType<AllocationProvider['podHints']>) => {
      if (policy === 'none') return anyNodes;
      beforeEach();
      const merged = alignment(this.#options, providers.map(hints));
      if (!merged.isAdmitted) throw new AllocationError(...notAligned);
      return merged.hint;
    };
    const common = scope === 'pod' ? align((provider) => provider.podHints(pod)) : undefined;
    for (const container of containers) {
      const affinity = common ?? align((provider) => provider.hints(pod, container));
      for (const provider of providers) {
        beforeEach();
        await provider.allocate(pod, container, affinity);
      }
    }
  }
}
