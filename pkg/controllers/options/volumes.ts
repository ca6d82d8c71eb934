/** Options of the controllers of volumes and of the autoscaler. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { OptionTable } from '#daemon/options/option.js';

const volumes = 'Volumes';
/** Why options of 1.24's plugins do nothing: volumes are those of drivers, which make, attach and delete them themselves. */
const noPlugins = 'the manager has no volume plugins within itself; drivers look after their volumes';
const autoscaler = 'Autoscaler';

/** Options whose defaults are the dialect's. */
export function flexVolumeOptions(dialect: Dialect) {
  return {
    'flex-volume-plugin-dir': {
      type: 'string',
      default: `/usr/libexec/${dialect.product}/${dialect.components.nodeAgent}-plugins/volume/exec/`,
      inert: noPlugins,
      section: volumes,
      meaning: "Directory of others' volume plugins.",
    },
  } as const satisfies OptionTable;
}

export const volumeOptions = {
  'pvclaimbinder-sync-period': {
    type: 'duration',
    min: 0,
    default: 15_000,
    section: volumes,
    meaning: 'Interval of matching claims with volumes.',
  },
  'attach-detach-reconcile-sync-period': {
    type: 'duration',
    default: 60_000,
    section: volumes,
    meaning: 'Interval of comparing attached volumes with wanted ones; more than a second.',
  },
  'disable-attach-detach-reconcile-sync': {
    type: 'bool',
    section: volumes,
    meaning: 'Do not compare attached volumes with wanted ones; they may then differ.',
  },
  'enable-dynamic-provisioning': {
    type: 'bool',
    default: true,
    section: volumes,
    meaning: 'Make volumes for claims that name a storage class.',
  },
  'enable-hostpath-provisioner': {
    type: 'bool',
    section: volumes,
    meaning: "Make volumes from directories of the manager's machine; for tests on one node only.",
  },
  'external-cloud-volume-plugin': {
    type: 'string',
    inert: noPlugins,
    section: volumes,
    meaning: 'Volume plugin to use when the cloud provider is external.',
  },
  'pv-recycler-minimum-timeout-nfs': {
    type: 'int',
    min: 0,
    default: 300,
    section: volumes,
    meaning: 'Shortest deadline in seconds of a pod that empties an NFS volume.',
  },
  'pv-recycler-increment-timeout-nfs': {
    type: 'int',
    min: 0,
    default: 30,
    section: volumes,
    meaning: 'Seconds added to that deadline per Gi.',
  },
  'pv-recycler-pod-template-filepath-nfs': {
    type: 'string',
    section: volumes,
    meaning: 'File with the template of the pod that empties an NFS volume.',
  },
  'pv-recycler-minimum-timeout-hostpath': {
    type: 'int',
    min: 0,
    default: 60,
    section: volumes,
    meaning: 'Shortest deadline in seconds of a pod that empties a host directory; for tests only.',
  },
  'pv-recycler-timeout-increment-hostpath': {
    type: 'int',
    min: 0,
    default: 30,
    section: volumes,
    meaning: 'Seconds added to that deadline per Gi; for tests only.',
  },
  'pv-recycler-pod-template-filepath-hostpath': {
    type: 'string',
    section: volumes,
    meaning: 'File with the template of the pod that empties a host directory; for tests only.',
  },
  'volume-host-allow-local-loopback': {
    type: 'bool',
    default: true,
    inert: noPlugins,
    section: volumes,
    meaning: 'Whether volume plugins may talk to loopback addresses.',
  },
  'volume-host-cidr-denylist': {
    type: 'strings',
    inert: noPlugins,
    section: volumes,
    meaning: 'Ranges that volume plugins must not talk to.',
  },
} as const satisfies OptionTable;

function period<const D extends number>(defaultMs: D, meaning: string) {
  return { type: 'duration', min: 0, default: defaultMs, section: autoscaler, meaning } as const;
}

export const autoscalerOptions = {
  'horizontal-pod-autoscaler-sync-period': period(15_000, 'Interval of looking at loads.'),
  'horizontal-pod-autoscaler-cpu-initialization-period': period(
    300_000,
    "How long a new pod's CPU samples may be skipped.",
  ),
  'horizontal-pod-autoscaler-downscale-stabilization': period(
    300_000,
    'How far back recommendations keep the size from shrinking below them.',
  ),
  'horizontal-pod-autoscaler-initial-readiness-delay': period(
    30_000,
    'How long changes of readiness after the start count as the first.',
  ),
  'horizontal-pod-autoscaler-tolerance': {
    type: 'float',
    min: 0,
    default: 0.1,
    section: autoscaler,
    meaning: 'Smallest distance from 1 of the ratio of wanted to actual load that changes the size.',
  },
} as const satisfies OptionTable;
