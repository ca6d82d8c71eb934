/** Why volumes are not there for their pod, in the words of release 1.24; becomes events. */

/** What was being done; begins the message of the event. */
export type MountStage =
  | 'MountVolume.SetUp failed'
  | 'MountVolume.MountDevice failed'
  | 'MountVolume.NewMounter initialization failed'
  | 'MountVolume.NodeAffinity check failed'
  | 'MountVolume.MountOptionSupport check failed'
  | 'MapVolume.NodeAffinity check failed'
  | 'MapVolume.SetUpDevice failed'
  /** It was not even clear what is to be mounted, or nobody here can. */
  | 'unknown';

/** What one volume needs is not there, or wrong. */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
  readonly stage: MountStage;

  constructor(message: string, options: { readonly stage?: MountStage; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.stage = options.stage ?? 'MountVolume.SetUp failed';
  }
}

export interface FailedVolume {
  /** The pod's name for it. */
  readonly volume: string;
  /** The name in messages: that of the persistent volume where there is one. */
  readonly specName: string;
  readonly stage: MountStage;
  readonly message: string;
}

export interface VolumeEvent {
  readonly reason: 'FailedMount' | 'FailedMapVolume';
  readonly message: string;
}

/** Longest time that 1.24 waits for all of a pod's volumes before it says so. */
export const mountTimeoutMs = 123_000;
export const timedOut = 'timed out waiting for the condition';

/** Some volumes of a pod cannot be had. The pod cannot start. */
export class VolumesError extends Error {
  override readonly name = 'VolumesError';
  readonly events: readonly VolumeEvent[];

  constructor(events: readonly VolumeEvent[]) {
    super(events.map(({ message }) => message).join('; '));
    this.events = events;
  }
}

/**
 * The events of one try. `expected`: names of all volumes that the pod's containers use. `isLate`: the first try was
 * longer ago than 1.24 waits. Pure.
 */
export function volumeEvents(
  failed: readonly FailedVolume[],
  { expected, isLate }: { readonly expected: readonly string[]; readonly isLate: boolean },
): VolumeEvent[] {
  const events = failed
    .filter(({ stage }) => stage !== 'unknown')
    .map(({ specName, stage, message }): VolumeEvent => {
      const reason = stage.startsWith('MapVolume') ? 'FailedMapVolume' : 'FailedMount';
      return { reason, message: `${stage} for volume "${specName}" : ${message}` };
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
