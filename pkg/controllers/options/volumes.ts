/** Options of the volume controllers and the autoscaler. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { OptionTable } from '#daemon/options/option.js';

const volumes = 'Volumes';
/** Options of 1.24's in-tree plugins have no effect, because CSI drivers provision, attach and delete volumes. */
const noPlugins = 'the manager has no in-tree volume plugins; CSI drivers manage their volumes';
const autoscaler = 'Autoscaler';

/** Options whose defaults depend on the dialect. */
export function flexVolumeOptions(dialect: Dialect) {
  return {
    'flex-volume-plugin-dir': {
      type: 'string',
      default: `/usr/libexec/${dialect.product}/${dialect.components.nodeAgent}-plugins/volume/exec/`,
      inert: noPlugins,
      section: volumes,
      meaning: 'Directory of external volume plugins.',
    },
  } as const satisfies OptionTable;
}

export const volumeOptions = {
  'pvclaimbinder-sync-period': {
    type: 'duration',
    min: 0,
    default: 15_000,
    section: volumes,
    meaning: 'Resync interval for claims and volumes.',
  },
  'attach-detach-reconcile-sync-period': {
    type: 'duration',
    default: 60_000,
    section: volumes,
    meaning: 'Interval between comparisons of attached and desired volumes; more than a second.',
  },
  'disable-attach-detach-reconcile-sync': {
    type: 'bool',
    section: volumes,
    meaning: 'Disable the periodic comparison of attached and desired volumes, which may then differ.',
  },
  'enable-dynamic-provisioning': {
    type: 'bool',
    default: true,
    section: volumes,
    meaning: 'Provision volumes for claims with a storage class.',
  },
  'enable-hostpath-provisioner': {
    type: 'bool',
    section: volumes,
    meaning: "Provision directories of the manager's machine as volumes; for tests on one node only.",
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
    meaning: 'Minimum deadline in seconds for emptying an NFS volume.',
  },
  'pv-recycler-increment-timeout-nfs': {
    type: 'int',
    min: 0,
    default: 30,
    section: volumes,
    meaning: 'Deadline in seconds per Gi for emptying an NFS volume.',
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
    meaning: 'Minimum deadline in seconds for emptying a host directory; for tests only.',
  },
  'pv-recycler-timeout-increment-hostpath': {
    type: 'int',
    min: 0,
    default: 30,
    section: volumes,
    meaning: 'Deadline in seconds per Gi for emptying a host directory; for tests only.',
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
    meaning: 'Whether volume plugins may connect to loopback addresses.',
  },
  'volume-host-cidr-denylist': {
    type: 'strings',
    inert: noPlugins,
    section: volumes,
    meaning: 'Ranges to which volume plugins must not connect.',
  },
} as const satisfies OptionTable;

function period<const D extends number>(defaultMs: D, meaning: string) {
  return { type: 'duration', min: 0, default: defaultMs, section: autoscaler, meaning } as const;
}

export const autoscalerOptions = {
  'horizontal-pod-autoscaler-sync-period': period(15_000, 'Interval between reconciliations of each autoscaler.'),
  'horizontal-pod-autoscaler-cpu-initialization-period': period(
    300_000,
    'Time after a pod’s start during which its CPU samples may be ignored.',
  ),
  'horizontal-pod-autoscaler-downscale-stabilization': period(
    300_000,
    'Window of past recommendations that prevents scaling below the highest of them.',
  ),
  'horizontal-pod-autoscaler-initial-readiness-delay': period(
    30_000,
    'Time after a pod’s start during which readiness changes count as initial.',
  ),
  'horizontal-pod-autoscaler-tolerance': {
    type: 'float',
    min: 0,
    default: 0.1,
    section: autoscaler,
    meaning: 'Minimum deviation from 1 of the ratio of actual to target load that causes scaling.',
  },
} as const satisfies OptionTable;
