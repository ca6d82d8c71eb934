/** Options that 1.24 still accepts and that do nothing there, either. */
import type { OptionTable } from '#daemon/options/option.js';

const idle = {
  section: 'Deprecated',
  inert: 'nothing needs it any more',
  deprecated: 'it does nothing and will be deleted.',
} as const;

export const deprecatedOptions = {
  'allow-untagged-cloud': { ...idle, type: 'bool', meaning: 'Run on instances of a cloud without a cluster’s tag.' },
  'cloud-provider-gce-lb-src-cidrs': { ...idle, type: 'strings', meaning: 'Sources of a cloud’s load balancers.' },
  'deleting-pods-burst': { ...idle, type: 'int', meaning: 'Pods of failed nodes that are deleted at once.' },
  'deleting-pods-qps': { ...idle, type: 'float', default: 0.1, meaning: 'Nodes per second whose pods are deleted.' },
  'horizontal-pod-autoscaler-downscale-delay': { ...idle, type: 'duration', meaning: 'Pause between scalings down.' },
  'horizontal-pod-autoscaler-upscale-delay': { ...idle, type: 'duration', meaning: 'Pause between scalings up.' },
  'node-sync-period': { ...idle, type: 'duration', meaning: 'How often nodes are compared with the cloud’s.' },
  'register-retry-count': { ...idle, type: 'int', default: 10, meaning: 'Tries to register a node.' },
} as const satisfies OptionTable;
