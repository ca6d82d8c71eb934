/** Creates the pods that empty volumes with the policy `Recycle`, as in release 1.24 (pkg/volume/plugins.go). Pure. */
import type { PersistentVolume, Pod, Volume } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';

export interface RecyclerSettings {
  /** The minimum deadline. */
  readonly minimumSeconds: number;
  /** The deadline per whole Gi. */
  readonly secondsPerGi: number;
  /** Its first volume is replaced by the recycled volume; by default `standardTemplate`. */
  readonly template?: RecyclerTemplate;
}

export type RecyclerTemplate = Pick<Pod, 'metadata' | 'spec'>;

export interface Recyclers {
  readonly hostPath: RecyclerSettings;
  readonly nfs: RecyclerSettings;
}

/** Exits with 0 only when the volume is empty. */
const script = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1';

const standardTemplate: RecyclerTemplate = {
  metadata: { namespace: 'default' },
  spec: {
    restartPolicy: 'Never',
    volumes: [{ name: 'vol' }],
    containers: [
      {
        name: 'pv-recycler',
        image: 'busybox:1.35',
        command: ['/bin/sh'],
        args: ['-c', script],
        volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
      },
    ],
  },
};

const prefix = 'recycler-for-';

/** The volume that the recycler pod empties; undefined for other pods. */
export function volumeRecycledBy(podName: string): string | undefined {
  return podName.startsWith(prefix) ? podName.slice(prefix.length) : undefined;
}

/** The recycler pod for the volume; undefined for unsupported volume types. */
export function recyclerPod({ metadata, spec }: PersistentVolume, recyclers: Recyclers): Pod | undefined {
  const { hostPath, nfs } = spec;
  const source: Omit<Volume, 'name'> | undefined =
    hostPath === undefined
      ? nfs && { nfs: { server: nfs.server, path: nfs.path } }
      : { hostPath: { path: hostPath.path } };
  if (source === undefined) return undefined;
  const settings = hostPath === undefined ? recyclers.nfs : recyclers.hostPath;
  const template = settings.template ?? standardTemplate;
  const { generateName: _, ...templateMetadata } = template.metadata;
  const [first, ...others] = template.spec.volumes ?? [];
  const size = spec.capacity?.['storage'] ?? '0';
  return {
    metadata: {
      ...templateMetadata,
      name: `${prefix}${metadata.name}`,
      namespace: templateMetadata.namespace ?? 'default',
    },
    spec: {
      ...template.spec,
      activeDeadlineSeconds: deadlineSeconds(size, settings),
      volumes: [{ name: first?.name ?? 'vol', ...source }, ...others],
    },
  };
}

function deadlineSeconds(size: string, { minimumSeconds, secondsPerGi }: RecyclerSettings): number {
  return Math.max(minimumSeconds, Math.floor(value(size) / 2 ** 30) * secondsPerGi);
}
