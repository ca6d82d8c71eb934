import { statefulsets } from '#api/apps/v1/resources.gen.js';
import { declaration as schema } from '#api/apps/v1/statefulset.js';
import type {
  StatefulSet,
  StatefulSetPersistentVolumeClaimRetentionPolicy,
  StatefulSetSpec,
  StatefulSetUpdateStrategy,
} from '#api/apps/v1/types.gen.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate, validateTemplateMetadata } from '#api/core/v1/podtemplate/template.js';
import {
  checkAtMost100Percent,
  checkIntOrPercent,
  collisionCheck,
  completeTemplate,
  isZero,
  templateMatchesSelector,
  validateEndlessTemplate,
  validateParts,
  validateSelectedTemplate,
  validateWorkloadSelector,
} from '#api/core/v1/workload/validation.js';
import { goValuesOf } from '#api/go/go-values.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  forbiddenField,
  goIntOrString,
  invalidValue,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkCounts = rangesOf(schema.types.StatefulSetSpec, 'replicas', 'minReadySeconds');
const checkStatusCounts = rangesOf(
  schema.types.StatefulSetStatus,
  'replicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
  'observedGeneration',
);
const checkCollisions = collisionCheck(schema.types.StatefulSetStatus);
const checkPartition = rangesOf(schema.types.RollingUpdateStatefulSetStrategy, 'partition');
const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');
const templatePath = FieldPath.of('spec', 'template');

export const statefulSetStrategy: Strategy<StatefulSet> = kindStrategy<StatefulSet>(statefulsets, {
  generationFields: ['spec'],
  defaults: defaultStatefulSet,
  prepareForCreate(set) {
    set.status = { replicas: 0 };
  },
  validate: validateStatefulSet,
  validateUpdate: (set, old) => validateFixedFields(set.spec, old.spec),
  validateStatusUpdate: (set, old) => [
    ...checkStatusCounts(set.status, statusPath),
    ...validateParts(
      set.status ?? { replicas: 0 },
      [
        ['readyReplicas', 'replicas', 'status.replicas'],
        ['currentReplicas', 'replicas', 'status.replicas'],
        ['updatedReplicas', 'replicas', 'status.replicas'],
        ['availableReplicas', 'replicas', 'status.replicas'],
        ['availableReplicas', 'readyReplicas', 'readyReplicas'],
      ],
      statusPath,
    ),
    ...checkCollisions(set.status, old.status, statusPath),
  ],
  warnings: (set, old, context) => podTemplateWarnings(set.spec.template, old?.spec.template, context.dialect),
  cells: (set, context) => [
    set.metadata.name ?? '',
    `${set.status?.readyReplicas ?? 0}/${set.spec.replicas ?? 0}`,
    age(set.metadata.creationTimestamp, context.now),
    ...containerCells(set.spec.template?.spec?.containers),
  ],
});

function defaultStatefulSet(set: Draft<StatefulSet>, { dialect, gate }: StrategyContext): void {
  const { spec } = set;
  spec.updateStrategy ??= {};
  if ((spec.updateStrategy.type ?? '') === '') {
    spec.updateStrategy.type = 'RollingUpdate';
    spec.updateStrategy.rollingUpdate ??= {};
  }
  const { type, rollingUpdate } = spec.updateStrategy;
  if (type === 'RollingUpdate' && rollingUpdate !== undefined) {
    rollingUpdate.partition ??= 0;
    if (gate('MaxUnavailableStatefulSet')) rollingUpdate.maxUnavailable ??= 1;
  }
  defaultPodTemplate(spec.template, dialect);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion ??= dialect.apiVersion('core', 'v1');
    claim.kind ??= 'PersistentVolumeClaim';
  }
}

/**
 * Validates only the template's metadata and its restart policy: 1.24 never validated mounts of claim templates, so
 * other faults show when pods are created.
 */
function validateStatefulSet(set: StatefulSet, context: StrategyContext, old?: StatefulSet): FieldFailure[] {
  const { dialect } = context;
  const options = podOptions(set.spec.template, old?.spec.template, context);
  const { spec } = set;
  const template = completeTemplate(spec.template, context.scheme);
  const failures: FieldFailure[] = [];
  const policy = spec.podManagementPolicy ?? '';
  const policyPath = specPath.child('podManagementPolicy');
  if (policy === '') failures.push(required(policyPath));
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    failures.push(invalidValue(policyPath, policy, "must be 'OrderedReady' or 'Parallel'"));
  }
  return [
    ...failures,
    ...validateUpdateStrategy(spec.updateStrategy ?? {}, specPath.child('updateStrategy')),
    ...validateRetention(
      spec.persistentVolumeClaimRetentionPolicy,
      specPath.child('persistentVolumeClaimRetentionPolicy'),
    ),
    ...checkCounts(spec, specPath),
    ...validateWorkloadSelector(spec.selector, 'statefulset', specPath.child('selector')),
    ...validateSelectedTemplate(spec.selector, { detail: '', path: specPath.child('selector') }, (selector) => [
      ...templateMatchesSelector(template, selector, templatePath),
      ...validateTemplateMetadata(template, { dialect, options }, templatePath),
    ]),
    ...validateEndlessTemplate(template, 'StatefulSet', templatePath),
  ];
}

function validateUpdateStrategy(strategy: StatefulSetUpdateStrategy, path: FieldPath): readonly FieldFailure[] {
  const rolling = strategy.rollingUpdate;
  switch (strategy.type) {
    case '':
    case undefined:
      return [required(path)];
    case 'OnDelete':
      if (rolling === undefined) return [];
      return [
        invalidValue(
          path.child('rollingUpdate'),
          values.of('RollingUpdateStatefulSetStrategy', rolling),
          "only allowed for updateStrategy 'RollingUpdate'",
        ),
      ];
    case 'RollingUpdate':
      return rolling === undefined ? [] : validateRollingUpdate(rolling, path.child('rollingUpdate'));
    default:
      return [
        invalidValue(path, values.of('StatefulSetUpdateStrategy', strategy), "must be 'RollingUpdate' or 'OnDelete'"),
      ];
  }
}

function validateRollingUpdate(
  rolling: NonNullable<StatefulSetUpdateStrategy['rollingUpdate']>,
  path: FieldPath,
): readonly FieldFailure[] {
  const { maxUnavailable } = rolling;
  const failures = checkPartition(rolling, path);
  if (maxUnavailable === undefined) return failures;
  const at = path.child('maxUnavailable');
  return [
    ...failures,
    ...checkIntOrPercent(at, maxUnavailable),
    ...(isZero(maxUnavailable) ? [invalidValue(at, goIntOrString(maxUnavailable), 'cannot be 0')] : []),
    ...checkAtMost100Percent(at, maxUnavailable),
  ];
}

/** The retention policy of claims from the templates. */
function validateRetention(
  policy: StatefulSetPersistentVolumeClaimRetentionPolicy | undefined,
  path: FieldPath,
): FieldFailure[] {
  if (policy === undefined) return [];
  return (['whenDeleted', 'whenScaled'] as const).flatMap((field) => {
    const value = policy[field] ?? '';
    return schema.enums.PersistentVolumeClaimRetentionPolicyType.includes(value)
      ? []
      : [notSupported(path.child(field), value, schema.enums.PersistentVolumeClaimRetentionPolicyType)];
  });
}

const values = goValuesOf('apps', 'v1', [schema]);

const mutable = ['replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy', 'minReadySeconds'];

function validateFixedFields(spec: StatefulSetSpec, old: StatefulSetSpec): FieldFailure[] {
  const fields = new Set([...Object.keys(spec), ...Object.keys(old)]);
  for (const field of fields) {
    if (mutable.includes(field) || semanticEqual(Reflect.get(spec, field), Reflect.get(old, field))) continue;
    const text =
      "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    return [forbiddenField(specPath, text)];
  }
  return [];
}
