import { templateGenerationAnnotation, templateGenerationOf } from '#api/apps/v1/daemonset/template-generation.js';
import { declaration as schema } from '#api/apps/v1/daemonset.js';
import { daemonsets } from '#api/apps/v1/resources.gen.js';
import type { DaemonSet, DaemonSetStatus, DaemonSetUpdateStrategy } from '#api/apps/v1/types.gen.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import {
  checkAtMost100Percent,
  checkIntOrPercent,
  collisionCheck,
  isZero,
  validateWorkloadSelector,
  validateWorkloadTemplate,
} from '#api/core/v1/workload/validation.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabelSelector, formatLabels } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import { addAll, goIntOrString, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkReadySeconds = rangesOf(schema.types.DaemonSetSpec, 'minReadySeconds');
const checkHistoryLimit = rangesOf(schema.types.DaemonSetSpec, 'revisionHistoryLimit');
const specPath = FieldPath.of('spec');

export const daemonSetStrategy: Strategy<DaemonSet> = kindStrategy<DaemonSet>(daemonsets, {
  generationFields: ['spec'],
  defaults: (set, context) => {
    defaultDaemonSet(set, context.dialect);
    // 1.24 converts the annotation to a number and back.
    setTemplateGeneration(set, templateGenerationOf(set) ?? 0);
  },
  prepareForCreate: (set) => setTemplateGeneration(set, Math.max(1, templateGenerationOf(set) ?? 0)),
  prepareForUpdate(set, old) {
    const before = templateGenerationOf(old) ?? 0;
    setTemplateGeneration(set, semanticEqual(set.spec.template, old.spec.template) ? before : before + 1);
  },
  // In 1.24 the number belongs to the spec, which status updates do not change.
  prepareForStatusUpdate: (set, old) => setTemplateGeneration(set, templateGenerationOf(old) ?? 0),
  validate: validateDaemonSet,
  validateStatusUpdate: (set, old) => validateStatus(set.status, old.status),
  warnings: (set, old, context) => podTemplateWarnings(set.spec.template, old?.spec.template, context.dialect),
  cells: (set, context) => daemonSetCells(set, context.now),
  internalAnnotations: [templateGenerationAnnotation],
});

function setTemplateGeneration(set: Draft<DaemonSet>, generation: number): void {
  set.metadata.annotations = { ...set.metadata.annotations, [templateGenerationAnnotation]: String(generation) };
}

function defaultDaemonSet(set: Draft<DaemonSet>, dialect: Dialect): void {
  const { spec } = set;
  spec.updateStrategy ??= {};
  spec.updateStrategy.type ||= 'RollingUpdate';
  if (spec.updateStrategy.type === 'RollingUpdate') {
    spec.updateStrategy.rollingUpdate ??= {};
    spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
    spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  defaultPodTemplate(spec.template, dialect);
}

function validateDaemonSet(set: DaemonSet, context: StrategyContext, old?: DaemonSet): FieldFailure[] {
  const { scheme } = context;
  const options = podOptions(set.spec.template, old?.spec.template, context);
  const { selector, template, updateStrategy } = set.spec;
  return [
    // A missing selector is not reported separately: it matches no template.
    ...(selector === undefined ? [] : validateWorkloadSelector(selector, 'daemonset', specPath.child('selector'))),
    ...validateWorkloadTemplate(
      template,
      {
        scheme,
        options,
        selector: compileSelector(selector),
        kind: 'DaemonSet',
        emptyWhenAbsent: true,
        replicated: true,
      },
      specPath.child('template'),
    ),
    ...checkReadySeconds(set.spec, specPath),
    ...validateUpdateStrategy(updateStrategy ?? {}, specPath.child('updateStrategy')),
    ...checkHistoryLimit(set.spec, specPath),
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
  for (const check of [checkIntOrPercent, checkAtMost100Percent]) {
    addAll(failures, check(at.child('maxUnavailable'), maxUnavailable));
    addAll(failures, check(at.child('maxSurge'), maxSurge));
  }
  if (!isZero(maxUnavailable) && !isZero(maxSurge)) {
    const text = 'may not be set when maxUnavailable is non-zero';
    failures.push(invalidValue(at.child('maxSurge'), goIntOrString(maxSurge ?? 0), text));
  } else if (isZero(maxUnavailable) && isZero(maxSurge)) {
    failures.push(required(at.child('maxUnavailable'), 'cannot be 0 when maxSurge is 0'));
  }
  return failures;
}

const checkCollisions = collisionCheck(schema.types.DaemonSetStatus);
const checkCounts = rangesOf(
  schema.types.DaemonSetStatus,
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
);

function validateStatus(status: DaemonSetStatus | undefined, old: DaemonSetStatus | undefined): FieldFailure[] {
  const path = FieldPath.of('status');
  return [...checkCounts(status, path), ...checkCollisions(status, old, path)];
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
