/** Why volumes of a pod failed, in the texts of release 1.24; becomes events. */

/** The failed step; begins the event's message. */
export type MountStage =
  | 'MountVolume.SetUp failed'
  | 'MountVolume.MountDevice failed'
  | 'MountVolume.NewMounter initialization failed'
  | 'MountVolume.NodeAffinity check failed'
  | 'MountVolume.MountOptionSupport check failed'
  | 'MapVolume.NodeAffinity check failed'
  | 'MapVolume.SetUpDevice failed'
  | 'MountVolume.WaitForAttach failed'
  | 'MountVolume.Setup failed while expanding volume'
  | 'MapVolume.WaitForAttach failed'
  | 'MapVolume.NewBlockVolumeMapper initialization failed'
  | 'MapVolume.MapPodDevice failed'
  | 'MapVolume.MapBlockVolume failed'
  | 'MapVolume.MarkVolumeAsMounted failed while expanding volume'
  | 'AttachVolume.Attach failed'
  /** The volume could not be resolved, or this agent cannot mount it. */
  | 'unknown';

/** A volume could not be set up. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
  readonly stage: MountStage;

  constructor(message: string, options: { readonly stage?: MountStage; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.stage = options.stage ?? 'MountVolume.SetUp failed';
  }
}

export interface FailedVolume {
  /** The pod's volume name. */
  readonly volume: string;
  /** The name in messages: that of the persistent volume, if any. */
  readonly specName: string;
  readonly stage: MountStage;
  readonly message: string;
}

export interface VolumeEvent {
  readonly reason: 'FailedMount' | 'FailedMapVolume' | 'FailedAttachVolume';
  readonly message: string;
}

/** After this time, 1.24 reports that a pod's volumes are missing. */
export const mountTimeoutMs = 123_000;
export const timedOut = 'timed out waiting for the condition';

/** Some volumes of a pod failed; the pod cannot start. */
export class VolumesError extends Error {
  override readonly name = 'VolumesError';
  readonly events: readonly VolumeEvent[];

  constructor(events: readonly VolumeEvent[]) {
    super(events.map(({ message }) => message).join('; '));
    this.events = events;
  }
}

function reasonOf(stage: MountStage): VolumeEvent['reason'] {
  if (stage.startsWith('MapVolume')) return 'FailedMapVolume';
  return stage.startsWith('AttachVolume') ? 'FailedAttachVolume' : 'FailedMount';
}

/**
 * The events of one try. `expected`: names of all volumes that the pod's containers use. `isLate`: the first try was
 * longer ago than `mountTimeoutMs`. Pure.
 */
export function volumeEvents(
  failed: readonly FailedVolume[],
  { expected, isLate }: { readonly expected: readonly string[]; readonly isLate: boolean },
): VolumeEvent[] {
  const events = failed
    .filter(({ stage }) => stage !== 'unknown')
    .map(({ specName, stage, message }): VolumeEvent => {
      return { reason: reasonOf(stage), message: `${stage} for volume "${specName}" : ${message}` };
    });
  const reasons = new Set(failed.filter(({ stage }) => stage === 'unknown').map(({ message }) => message));
  if (reasons.size === 0 && isLate) reasons.add(timedOut);
  if (reasons.size === 0) return events;
  const unmounted = failed.map(({ volume }) => volume).sort();
  const lists = `unmounted volumes=[${unmounted.join(' ')}], unattached volumes=[${expected.join(' ')}]`;
  return [
    ...events,
    {
      reason: 'FailedMount',
      message: `Unable to attach or mount volumes: ${lists}: ${[...reasons].sort().join('; ')}`,
    },
  ];
}
