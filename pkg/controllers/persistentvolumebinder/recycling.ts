/** The pods that empty released volumes whose policy is `Recycle`, as in release 1.24 (pkg/volume/plugins.go). Pure. */
import type { PersistentVolume, Pod, Volume } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';

/** How volumes of one sort are emptied. */
export interface RecyclerSettings {
  /** Shortest deadline, in seconds. */
  readonly minimumSeconds: number;
  /** Added to the deadline for each whole Gi, in seconds. */
  readonly secondsPerGi: number;
  /** Its first volume becomes the one that is emptied; absent: `standardTemplate`. */
  readonly template?: RecyclerTemplate;
}

export type RecyclerTemplate = Pick<Pod, 'metadata' | 'spec'>;

export interface Recyclers {
  readonly hostPath: RecyclerSettings;
  readonly nfs: RecyclerSettings;
}

/** Exits with 0 only when nothing is left. */
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

/** The volume that a pod of that name empties. */
export function volumeRecycledBy(podName: string): string | undefined {
  return podName.startsWith(prefix) ? podName.slice(prefix.length) : undefined;
}

/** The pod that empties the volume; undefined for volumes of other sorts. */
export function recyclerPod({ metadata, spec }: PersistentVolume, recyclers: Recyclers): Pod | undefined {
  const { hostPath, nfs } = spec;
  const source: Omit<Volume, 'name'> | undefined =
    hostPath === undefined
      ? nfs && { nfs: { server: nfs.server, path: nfs.path } }
      : { hostPath: { path: hostPath.path } };
  if (source === undefined) return undefined;
  const settings = hostPath === undefined ? recyclers.nfs : recyclers.hostPath;
  const template = settings.template ?? standardTemplate;
  const { generateName: _, ...known } = template.metadata;
  const [first, ...others] = template.spec.volumes ?? [];
  const size = spec.capacity?.['storage'] ?? '0';
  return {
    metadata: { ...known, name: `${prefix}${metadata.name}`, namespace: known.namespace ?? 'default' },
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
