/** What one pod has to do with policies: the selections that its addresses are in, and what it may send and take. Pure. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { CompiledPolicy, NamedPort } from '#proxy/policies/compile.js';
import { type Allowance, type Direction, directions, type Membership, type PodPlan } from '#proxy/policies/model.js';
import type { Labels, SelectedPod, Selection } from '#proxy/policies/selection.js';
import { addressesOf } from '#proxy/services/addresses.js';
import { families } from '#proxy/services/view.js';

export interface PolicyContext {
  readonly policies: readonly CompiledPolicy[];
  /** Those of all policies, each once. */
  readonly selections: readonly Selection[];
  readonly nodeNames: ReadonlySet<string>;
  readonly namespaceLabels: (namespace: string) => Labels;
}

/** Undefined for pods that have no addresses of their own (any more). */
export function planPod(pod: Pod, context: PolicyContext): PodPlan | undefined {
  const { metadata, spec, status } = pod;
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (isOver || spec.hostNetwork === true) return undefined;
  const ips = status?.podIPs?.map(({ ip }) => ip) ?? [];
  const addresses = families.flatMap((family) => addressesOf(family, ips).map((address) => ({ family, address })));
  if (addresses.length === 0) return undefined;
  const namespace = metadata.namespace ?? '';
  const selected: SelectedPod = {
    namespace,
    labels: metadata.labels ?? {},
    namespaceLabels: context.namespaceLabels(namespace),
  };
  const named = namedPortOf(pod);
  const memberships = context.selections.flatMap((selection): Membership[] => {
    if (!selection.matches(selected)) return [];
    if (selection.port === undefined) return addresses.map((each) => ({ ...each, selection, port: undefined }));
    const { name, protocol } = selection.port;
    const number = named(name, protocol);
    if (number === undefined) return [];
    return addresses.map((each) => ({ ...each, selection, port: { transport: protocol.toLowerCase(), number } }));
  });
  const isHere = context.nodeNames.has(spec.nodeName ?? '');
  const policies = isHere ? context.policies.filter(({ selects }) => selects(selected)) : [];
  const isolated: Partial<Record<Direction, readonly (readonly Allowance[])[]>> = {};
  for (const direction of directions) {
    const allowed = policies.flatMap(({ egress, ingress }) => {
      const own = direction === 'egress' ? egress : ingress?.(named);
      return own === undefined ? [] : [own];
    });
    if (allowed.length > 0) isolated[direction] = allowed;
  }
  return { addresses, memberships, isolated };
}

function namedPortOf({ spec }: Pod): NamedPort {
  return (name, protocol) => {
    for (const { ports = [] } of spec.containers) {
      const found = ports.find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol);
      if (found !== undefined) return found.containerPort;
    }
    return undefined;
  };
}
