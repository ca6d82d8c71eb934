/** Persistent volume claims of a pod. */
import type { Pod, Volume } from '#api/core/v1/types.gen.js';

/** Name of the volume's claim, in the pod's namespace; undefined without claim. */
export function claimNameOf(podName: string, volume: Volume): string | undefined {
  if (volume.ephemeral !== undefined) return `${podName}-${volume.name}`;
  return volume.persistentVolumeClaim?.claimName;
}

/** Names of all claims of the pod, in the order of its volumes. */
export function claimNamesOf({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap((volume) => claimNameOf(metadata.name ?? '', volume) ?? []);
}
