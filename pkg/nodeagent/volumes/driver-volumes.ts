/** The interface between the volumes of pods and those of CSI drivers. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { MountedVolume } from '#nodeagent/volumes/mounted-volume.js';
import type { VolumeToMount } from '#nodeagent/volumes/volume-to-mount.js';

export interface DriverMount {
  readonly pod: Pod;
  readonly target: VolumeToMount;
  /** Ends the wait, but not the driver's operation. */
  readonly signal: AbortSignal;
}

export interface DriverVolumes {
  /** Mounts a pod's volume, or again. Throws VolumeError or MountInterruptedError; the operation then continues. */
  mount(mount: DriverMount): Promise<MountedVolume>;
  /** Whether the driver wants to publish the pod's volume again and again, since its content changes. */
  requiresRepublish(target: VolumeToMount): boolean;
  /** Expands a mounted volume whose persistent volume has grown. Never rejects. */
  expand(pod: Pod, target: VolumeToMount): Promise<void>;
  /** Unpublishes all volumes of a pod; its containers have ended. Throws Error, and is called again. */
  tearDown(uid: string): Promise<void>;
}
