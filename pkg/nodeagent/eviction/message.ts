/** Texts about an eviction. Pure. Words of release 1.24 (pkg/kubelet/eviction/helpers.go, evictionMessage). */
import type { Pod } from '#api/core/v1/types.gen.js';
import { canonicalQuantity, quantityFromValue, value } from '#apimachinery/quantity.js';
import type { ContainerUse, PodUse } from '#nodeagent/eviction/pod-usage.js';
import type { StarvedResource } from '#nodeagent/pressure/thresholds.js';

export interface EvictionTexts {
  /** The message of status and event; ends in a space. */
  readonly message: string;
  /** Annotations of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** `use`: undefined if the pod was not measured. */
export function evictionTexts(resource: StarvedResource, pod: Pod, use: PodUse | undefined): EvictionTexts {
  const low = `The node was low on resource: ${resource}. `;
  if (use === undefined) return { message: low, annotations: {} };
  const offenders = use.containers.flatMap((measured) => {
    const container = pod.spec.containers.find(({ name }) => name === measured.name);
    const used = usedOf(resource, measured);
    const requested = container?.resources?.requests?.[resource] ?? '0';
    if (container === undefined || used === undefined || used <= value(requested)) return [];
    return [{ name: container.name, used: quantityFromValue(used, 'BinarySI'), requested }];
  });
  const details = offenders.map(
    ({ name, used, requested }) =>
      `Container ${name} was using ${used}, which exceeds its request of ${canonicalQuantity(requested)}. `,
  );
  return {
    message: low + details.join(''),
    annotations: {
      offending_containers: offenders.map(({ name }) => name).join(','),
      offending_containers_usage: offenders.map(({ used }) => used).join(','),
      starved_resource: resource,
    },
  };
}

/** Undefined for resources of which containers have no single measurement. */
function usedOf(resource: StarvedResource, { memoryBytes, rootfs, logs }: ContainerUse): number | undefined {
  if (resource === 'memory') return memoryBytes;
  return resource === 'ephemeral-storage' ? rootfs.bytes + logs.bytes : undefined;
}
