import { podCells, podRowConditions } from '#api/core/v1/pod/cells.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { defaultPod } from '#api/core/v1/pod/defaults.js';
import { appArmorPrefix } from '#api/core/v1/pod/parts/annotations.js';
import { syncSeccomp } from '#api/core/v1/pod/parts/seccomp.js';
import { computeQosClass } from '#api/core/v1/pod/resources.js';
import type { AnnotationRules } from '#api/core/v1/pod/validation/annotations.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import {
  validateEphemeralContainersUpdate,
  validatePod,
  validatePodCreate,
  validatePodStatusUpdate,
  validatePodUpdate,
} from '#api/core/v1/pod/validation/pod.js';
import { podWarnings } from '#api/core/v1/pod/warnings.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { anyGate } from '#api/strategy/gated-fields.js';
import { copyField, keepAllBut, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { fillDefaults } from '#apimachinery/schema/defaults.js';
import { addAll } from '#apimachinery/validation/failure.js';

export const podStrategy: Strategy<Pod> = kindStrategy<Pod>(pods, {
  deletionAnswer: 'object',
  defaults: (pod, context) => defaultPod(pod, context.dialect),
  prepareForCreate(pod, context) {
    pod.status = { phase: 'Pending', qosClass: computeQosClass(pod.spec) };
    dropAppArmor(pod, undefined, context);
    syncSeccomp(pod, context.dialect);
  },
  prepareForUpdate: (pod, old, context) => dropAppArmor(pod, old, context),
  validate(pod, context, old) {
    const failures = [...validatePod(pod, rulesOf(pod, old, context))];
    if (old === undefined) addAll(failures, validatePodCreate(pod, context.dialect));
    return failures;
  },
  validateUpdate: (pod, old, context) => validatePodUpdate(pod, old, context.dialect),
  prepareForStatusUpdate(pod, old) {
    copyField(pod.metadata, old.metadata, 'ownerReferences');
    copyField(pod.metadata, old.metadata, 'deletionTimestamp');
    copyField(pod.metadata, old.metadata, 'deletionGracePeriodSeconds');
  },
  validateStatusUpdate: (pod, old, context) => validatePodStatusUpdate(pod, old, rulesOf(pod, old, context)),
  // Warnings are for people, who create pods; updates come mostly from programs.
  warnings: (pod, old, context) => (old === undefined ? podWarnings(pod, context.dialect) : []),
  selectableFields: (pod) => ({
    'spec.nodeName': pod.spec.nodeName ?? '',
    'spec.restartPolicy': pod.spec.restartPolicy ?? '',
    'spec.schedulerName': pod.spec.schedulerName ?? '',
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? '',
    'status.phase': pod.status?.phase ?? '',
    'status.podIP': pod.status?.podIPs?.[0]?.ip ?? '',
    'status.nominatedNodeName': pod.status?.nominatedNodeName ?? '',
  }),
  cells: (pod, context) => podCells(pod, context.now),
  rowConditions: podRowConditions,
  defaultGracePeriodSeconds: podGracePeriodSeconds,
  partUpdates: {
    ephemeralcontainers: {
      prepare(pod, old, context) {
        const next = prepareEphemeralContainersUpdate(pod, old, context);
        keepAllBut(pod, old, []);
        pod.spec = next.spec;
        // As in 1.24, this update gets no manager and keeps the stored metadata.
        pod.metadata = next.metadata;
      },
      validate: validateEphemeralContainers,
    },
  },
});

function rulesOf(pod: Pod, old: Pod | undefined, context: StrategyContext): AnnotationRules {
  return { dialect: context.dialect, options: podOptions(pod, old, context) };
}

/** While its gate is off, pods lose AppArmor profiles unless they are stored already. */
function dropAppArmor(pod: Draft<Pod>, old: Pod | undefined, { gate, dialect }: StrategyContext): void {
  const prefix = appArmorPrefix(dialect);
  const has = ({ metadata: { annotations } }: Pod): boolean => {
    for (const key in annotations) if (key.startsWith(prefix)) return true;
    return false;
  };
  if (!has(pod) || gate('AppArmor') || (old !== undefined && has(old))) return;
  const kept = Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => !key.startsWith(prefix));
  pod.metadata.annotations = Object.fromEntries(kept);
}

/**
 * The grace period: that of the request, or else of the pod, or else zero. A pod without node, or one that has ended,
 * needs none; a negative period counts as the shortest one.
 */
export function podGracePeriodSeconds(pod: Pod, requested: number | bigint | undefined): number | bigint {
  const unscheduled = (pod.spec.nodeName ?? '') === '';
  if (unscheduled || isPodTerminal(pod)) return 0;
  const period = requested ?? pod.spec.terminationGracePeriodSeconds ?? 0;
  return period < 0 ? 1 : period;
}

/** An update of `ephemeralcontainers` changes only that list; returns the new pod before validation. */
export function prepareEphemeralContainersUpdate(pod: Pod, old: Pod, context: StrategyContext): Draft<Pod> {
  const next = copyJson(old);
  copyField(next.spec, pod.spec, 'ephemeralContainers');
  for (const field of ['name', 'namespace', 'uid', 'resourceVersion']) copyField(next.metadata, pod.metadata, field);
  fillDefaults(context.scheme.type('core.v1.Pod'), next, anyGate(context));
  defaultPod(next, context.dialect);
  return next;
}

/** Rules of an update of `ephemeralcontainers`. */
export function validateEphemeralContainers(pod: Pod, old: Pod, context: StrategyContext): readonly FieldFailure[] {
  return validateEphemeralContainersUpdate(pod, old, rulesOf(pod, old, context));
}
