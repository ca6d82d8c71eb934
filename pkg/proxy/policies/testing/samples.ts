/** Sample pods and policies. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { NetworkPolicy } from '#api/networking/v1/types.gen.js';
import { compilePolicy } from '#proxy/policies/compile.js';
import type { PolicyContext } from '#proxy/policies/policy-rules.js';

const namespace = 'shop';

export function samplePolicy(spec: NetworkPolicy['spec']): NetworkPolicy {
  return { metadata: { name: 'p', namespace }, spec };
}

export interface PodSample {
  readonly nodeName?: string;
  readonly namespace?: string;
  readonly ips?: readonly string[];
}

/** A pod with a port `http`, 8080. */
export function samplePod(labels: Record<string, string>, more: PodSample = {}): Pod {
  const { nodeName = 'here', ips = ['10.0.0.1'] } = more;
  return {
    metadata: { name: 'a', namespace: more.namespace ?? namespace, labels },
    spec: { nodeName, containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }] }] },
    status: { phase: 'Running', podIPs: ips.map((ip) => ({ ip })) },
  };
}

/** Context of the node `here`; namespaces have their name as the label `name`. */
export function contextOf(...policies: readonly NetworkPolicy[]): PolicyContext {
  const compiled = policies.map(compilePolicy);
  const selections = new Map(compiled.flatMap((each) => each.selections).map((each) => [each.id, each]));
  return {
    policies: compiled,
    selections: [...selections.values()],
    nodeNames: new Set(['here']),
    namespaceLabels: (name) => ({ name }),
  };
}
