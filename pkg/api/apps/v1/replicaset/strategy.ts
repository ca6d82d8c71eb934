import { declaration as schema } from '#api/apps/v1/replicaset.js';
import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { ReplicaSet, ReplicaSetStatus } from '#api/apps/v1/types.gen.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import {
  validateParts,
  validateSelectedTemplate,
  validateWorkloadSelector,
  validateWorkloadTemplate,
} from '#api/core/v1/workload/validation.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabelSelector } from '#api/table/text.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkCounts = rangesOf(schema.types.ReplicaSetSpec, 'replicas', 'minReadySeconds');
const checkStatusCounts = rangesOf(
  schema.types.ReplicaSetStatus,
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'observedGeneration',
);
const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

export const replicaSetStrategy: Strategy<ReplicaSet> = kindStrategy<ReplicaSet>(replicasets, {
  generationFields: ['spec'],
  defaults(set, context) {
    defaultPodTemplate(set.spec.template, context.dialect);
  },
  prepareForCreate(set) {
    set.status = { replicas: 0 };
  },
  validate: validateReplicaSet,
  validateStatusUpdate: (set) => validateReplicaSetStatus(set.status ?? { replicas: 0 }),
  warnings: (set, old, context) => podTemplateWarnings(set.spec.template, old?.spec.template, context.dialect),
  cells: (set, context) => replicaSetCells(set, context.now),
});

function validateReplicaSet(set: ReplicaSet, context: StrategyContext, old?: ReplicaSet): FieldFailure[] {
  const { scheme } = context;
  const { replicas, selector, template } = set.spec;
  const options = podOptions(template, old?.spec.template, context);
  return [
    ...checkCounts(set.spec, specPath),
    // 1.24 uses this word for replica sets too.
    ...validateWorkloadSelector(selector, 'deployment', specPath.child('selector')),
    ...validateSelectedTemplate(
      selector,
      { detail: 'invalid label selector', path: specPath.child('selector') },
      (compiled) =>
        validateWorkloadTemplate(
          template,
          {
            scheme,
            options,
            selector: compiled,
            kind: 'ReplicaSet',
            emptyWhenAbsent: true,
            replicated: (replicas ?? 0) > 1,
          },
          specPath.child('template'),
        ),
    ),
  ];
}

function validateReplicaSetStatus(status: ReplicaSetStatus): FieldFailure[] {
  const replicas = 'status.replicas';
  const failures = validateParts(
    status,
    [
      ['fullyLabeledReplicas', 'replicas', replicas],
      ['readyReplicas', 'replicas', replicas],
      ['availableReplicas', 'replicas', replicas],
      ['availableReplicas', 'readyReplicas', 'readyReplicas'],
    ],
    statusPath,
  );
  return [...checkStatusCounts(status, statusPath), ...failures];
}

function replicaSetCells(set: ReplicaSet, now: number): TableRowCells {
  const { metadata, spec, status } = set;
  return [
    metadata.name ?? '',
    spec.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    age(metadata.creationTimestamp, now),
    ...containerCells(spec.template?.spec?.containers),
    formatLabelSelector(spec.selector),
  ];
}
