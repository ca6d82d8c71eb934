/** Properties of a node that its pods can use. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { PodFacts } from '#nodeagent/environment/field-ref.js';
import { type PodRuntime, podIPs } from '#nodeagent/runtime/pod-runtime.js';

export interface NodeFacts {
  readonly nodeName: string;
  /** One address, or one of each family; see `NodeRegistrar.hostIPs`. */
  readonly hostIPs: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly memoryCapacityBytes: number;
  /** Why pods have no network now. */
  readonly networkProblem: string | undefined;
}

/** The facts of a pod and its node for environment variables and volumes. */
export function podFacts({ nodeName, hostIPs, allocatable }: NodeFacts, pod: Pod, runtime: PodRuntime): PodFacts {
  const ips = pod.spec.hostNetwork === true ? hostIPs : podIPs(runtime);
  return { nodeName, hostIP: hostIPs[0] ?? '', allocatable, podIPs: ips };
}
