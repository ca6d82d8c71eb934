/** Resolves `fieldRef` and `resourceFieldRef`, for variables and downward API files. */
import type { Container, Pod, ResourceFieldSelector } from '#api/core/v1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';

/** Values that are only known once the pod runs. */
export interface PodFacts {
  readonly nodeName: string;
  readonly hostIP: string;
  readonly podIPs: readonly string[];
  /** The node's allocatable resources, the default of absent limits. */
  readonly allocatable: Readonly<Record<string, string>>;
}

function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .map(([key, text]) => `${key}=${JSON.stringify(text)}`)
    .sort()
    .join('\n');
}

/** Throws RangeError for an unsupported path. */
export function fieldValue(pod: Pod, path: string, facts: PodFacts): string {
  const subscript = /^metadata\.(annotations|labels)\['(.*)'\]$/.exec(path);
  if (subscript !== null) {
    const map = subscript[1] === 'labels' ? pod.metadata.labels : pod.metadata.annotations;
    return map?.[subscript[2] ?? ''] ?? '';
  }
  switch (path) {
    case 'metadata.name':
      return pod.metadata.name ?? '';
    case 'metadata.namespace':
      return pod.metadata.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(pod.metadata.labels);
    case 'metadata.annotations':
      return formatMap(pod.metadata.annotations);
    case 'spec.nodeName':
      return facts.nodeName;
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return facts.hostIP;
    case 'status.podIP':
      return facts.podIPs[0] ?? '';
    case 'status.podIPs':
      return facts.podIPs.join(',');
    default:
      throw new RangeError(`unsupported fieldPath: ${path}`);
  }
}

/** Throws RangeError for an unknown container or resource. */
export function resourceValue(
  pod: Pod,
  selector: ResourceFieldSelector,
  own: Container | undefined,
  facts: PodFacts,
): string {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const name = selector.containerName ?? '';
  const container = name === '' ? own : containers.find((c) => c.name === name);
  if (container === undefined) throw new RangeError(`container ${name} not found`);
  const [kind, resource = ''] = selector.resource.split('.');
  if ((kind !== 'limits' && kind !== 'requests') || resource === '') {
    throw new RangeError(`unsupported container resource: ${selector.resource}`);
  }
  const limit = container.resources?.limits?.[resource];
  const quantity =
    kind === 'limits'
      ? (limit ?? facts.allocatable[resource] ?? '0')
      : (container.resources?.requests?.[resource] ?? limit ?? '0');
  const divisor = selector.divisor === undefined || selector.divisor === '0' ? '1' : selector.divisor;
  const amount = resource === 'cpu' ? milliValue(quantity) / milliValue(divisor) : value(quantity) / value(divisor);
  return String(Math.ceil(amount));
}
