import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import type { Plugin, Rejection } from '#scheduler/framework/plugin.js';

const conflict: Rejection = { reasons: ['node(s) had no available disk'] };

/** Disks that pods mount directly may be on a node once only, but for some kinds that all pods only read. */
export const volumeRestrictions: Plugin = {
  name: 'VolumeRestrictions',
  events: ['NodeAdd', 'AssignedPodDelete', 'PvcAdd', 'PvcUpdate'],
  filter: {
    local: true,
    prepare({ pod }) {
      const disks = disksOf(pod);
      if (disks.length === 0) return undefined;
      return {
        filter({ pods }) {
          for (const { pod: other } of pods.values()) {
            if (anyClash(disks, disksOf(other))) return conflict;
          }
          return undefined;
        },
      };
    },
  },
};

/** Whether the pods cannot be on a node together for a disk that both mount. */
export const shareDisk = (a: Pod, b: Pod): boolean => anyClash(disksOf(a), disksOf(b));

interface Disk {
  /** Of kind and disk; two that have one in common are the same disk. */
  readonly keys: readonly string[];
  /** Several pods may use it as long as none writes. */
  readonly shared: boolean;
}

const disksOf = ({ spec }: Pod): Disk[] => (spec.volumes ?? []).flatMap((volume) => diskOf(volume) ?? []);

const anyClash = (own: readonly Disk[], theirs: readonly Disk[]): boolean =>
  theirs.some((other) => own.some((disk) => clash(disk, other)));

const clash = (a: Disk, b: Disk): boolean => !(a.shared && b.shared) && a.keys.some((key) => b.keys.includes(key));

function diskOf({ awsElasticBlockStore, gcePersistentDisk, iscsi, rbd }: Volume): Disk | undefined {
  if (gcePersistentDisk !== undefined) {
    return { keys: [`gce ${gcePersistentDisk.pdName}`], shared: gcePersistentDisk.readOnly === true };
  }
  if (awsElasticBlockStore !== undefined) return { keys: [`aws ${awsElasticBlockStore.volumeID}`], shared: false };
  if (iscsi !== undefined) return { keys: [`iscsi ${iscsi.iqn}`], shared: iscsi.readOnly === true };
  if (rbd === undefined) return undefined;
  const image = `${rbd.pool ?? 'rbd'}/${rbd.image}`;
  return { keys: rbd.monitors.map((monitor) => `rbd ${monitor} ${image}`), shared: rbd.readOnly === true };
}
