/** What is particular to daemon sets. */

import { declaration as schema } from '#api/apps/v1/daemonset.js';
import { daemonsets } from '#api/apps/v1/resources.gen.js';
import type { DaemonSet, DaemonSetStatus, DaemonSetUpdateStrategy } from '#api/apps/v1/types.gen.js';
import {
  checkAtMost100Percent,
  checkIntOrPercent,
  isZero,
  validateCollisionCount,
  validateStatusCounts,
  validateWorkloadSelector,
  validateWorkloadTemplate,
} from '#api/apps/v1/workload/validation.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { containerCells, formatLabelSelector, formatLabels } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import { checkNonNegative } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');

/** Where a generation of the template that older versions kept in the spec lives on. */
const templateGeneration = 'deprecated.daemonset.template.generation';

export const daemonSetStrategy: Strategy<DaemonSet> = kindStrategy<DaemonSet>(daemonsets, {
  generationFields: ['spec'],
  defaults: (set, context) => defaultDaemonSet(set, context.dialect),
  prepareForCreate: (set) => setTemplateGeneration(set, Math.max(1, templateGenerationOf(set))),
  prepareForUpdate(set, old) {
    const before = templateGenerationOf(old);
    setTemplateGeneration(set, semanticEqual(set.spec.template, old.spec.template) ? before : before + 1);
  },
  validate: validateDaemonSet,
  validateUpdate: (set, old) => validateImmutable(set.spec.selector, old.spec.selector, specPath.child('selector')),
  validateStatusUpdate: (set, old) => validateStatus(set.status, old.status),
  warnings: (set, old, context) => podTemplateWarnings(set.spec.template, old?.spec.template, context.dialect),
  cells: (set, context) => daemonSetCells(set, context.now),
});

/** 0 when there is none, or none that is a number. */
function templateGenerationOf(set: DaemonSet): number {
  const generation = Number(set.metadata.annotations?.[templateGeneration] ?? '0');
  return Number.isSafeInteger(generation) ? generation : 0;
}

function setTemplateGeneration(set: DaemonSet, generation: number): void {
  set.metadata.annotations = { ...set.metadata.annotations, [templateGeneration]: String(generation) };
}

function defaultDaemonSet(set: DaemonSet, dialect: Dialect): void {
  const { spec } = set;
  spec.updateStrategy ??= {};
  spec.updateStrategy.type ||= 'RollingUpdate';
  if (spec.updateStrategy.type === 'RollingUpdate') {
    spec.updateStrategy.rollingUpdate ??= {};
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template, dialect);
}

function validateDaemonSet(set: DaemonSet, context: StrategyContext, old?: DaemonSet): FieldFailure[] {
  const { dialect } = context;
  const options = podOptions(set.spec.template, old?.spec.template, context);
  const { selector, template, minReadySeconds, revisionHistoryLimit, updateStrategy } = set.spec;
  return [
    // That it is there is not asked for by itself: an absent one selects no template.
    ...(selector === undefined ? [] : validateWorkloadSelector(selector, 'daemonset', specPath.child('selector'))),
    ...validateWorkloadTemplate(
      template,
      {
        dialect,
        options,
        selector: compileSelector(selector),
        kind: 'DaemonSet',
        emptyWhenAbsent: true,
        replicated: true,
      },
      specPath.child('template'),
    ),
    ...checkNonNegative(specPath.child('minReadySeconds'), minReadySeconds),
    ...validateUpdateStrategy(updateStrategy ?? {}, specPath.child('updateStrategy')),
    ...checkNonNegative(specPath.child('revisionHistoryLimit'), revisionHistoryLimit),
  ];
}

function validateUpdateStrategy(strategy: DaemonSetUpdateStrategy, path: FieldPath): FieldFailure[] {
  if (strategy.type === 'OnDelete') return [];
  if (strategy.type !== 'RollingUpdate')
    return [notSupported(path, strategy, schema.enums.DaemonSetUpdateStrategyType)];
  const at = path.child('rollingUpdate');
  if (strategy.rollingUpdate === undefined) return [required(at)];
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate;
  const failures: FieldFailure[] = [];
  for (const [field, value] of [
    ['maxUnavailable', maxUnavailable],
    ['maxSurge', maxSurge],
  ] as const) {
    addAll(failures, checkIntOrPercent(at.child(field), value));
    addAll(failures, checkAtMost100Percent(at.child(field), value));
  }
  if (!isZero(maxUnavailable) && !isZero(maxSurge)) {
    failures.push(invalidValue(at.child('maxSurge'), maxSurge, 'may not be set when maxUnavailable is non-zero'));
  } else if (isZero(maxUnavailable) && isZero(maxSurge)) {
    failures.push(required(at.child('maxUnavailable'), 'cannot be 0 when maxSurge is 0'));
  }
  return failures;
}

const counts = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
] as const;

function validateStatus(status: DaemonSetStatus | undefined, old: DaemonSetStatus | undefined): FieldFailure[] {
  const path = FieldPath.of('status');
  return [
    ...(status === undefined ? [] : validateStatusCounts(status, counts, [], path)),
    ...validateCollisionCount(status?.collisionCount, old?.collisionCount, path.child('collisionCount')),
  ];
}

function daemonSetCells(set: DaemonSet, now: number): TableRowCells {
  const { metadata, spec, status } = set;
  return [
    metadata.name ?? '',
    status?.desiredNumberScheduled ?? 0,
    status?.currentNumberScheduled ?? 0,
    status?.numberReady ?? 0,
    status?.updatedNumberScheduled ?? 0,
    status?.numberAvailable ?? 0,
    formatLabels(spec.template?.spec?.nodeSelector),
    age(metadata.creationTimestamp, now),
    ...containerCells(spec.template?.spec?.containers),
    formatLabelSelector(spec.selector),
  ];
}
