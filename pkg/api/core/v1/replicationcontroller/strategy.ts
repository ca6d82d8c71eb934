import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import { declaration as schema } from '#api/core/v1/replicationcontroller.js';
import { replicationcontrollers } from '#api/core/v1/resources.gen.js';
import type { ReplicationController } from '#api/core/v1/types.gen.js';
import { validateParts, validateWorkloadTemplate } from '#api/core/v1/workload/validation.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabels } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { selectorFromLabels } from '#apimachinery/selectors/labels.js';
import { required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkReplicas = rangesOf(schema.types.ReplicationControllerSpec, 'replicas');
const checkReadySeconds = rangesOf(schema.types.ReplicationControllerSpec, 'minReadySeconds');
const checkStatusCounts = rangesOf(
  schema.types.ReplicationControllerStatus,
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'observedGeneration',
);
const statusPath = FieldPath.of('status');
const specPath = FieldPath.of('spec');

export const replicationControllerStrategy: Strategy<ReplicationController> = kindStrategy<ReplicationController>(
  replicationcontrollers,
  {
    generationFields: ['spec'],
    scaleSelector: ({ spec }) => spec.selector && { matchLabels: spec.selector },
    // Clients of this oldest kind expect its pods to outlive it.
    defaultPropagation: 'Orphan',
    defaults: (controller, context) => defaultController(controller, context.dialect),
    prepareForCreate(controller) {
      controller.status = { replicas: 0 };
    },
    validate: validateController,
    validateStatusUpdate: ({ status = { replicas: 0 } }) => [
      ...checkStatusCounts(status, statusPath),
      ...validateParts(
        status,
        [
          ['fullyLabeledReplicas', 'replicas', 'status.replicas'],
          ['readyReplicas', 'replicas', 'status.replicas'],
          ['availableReplicas', 'replicas', 'status.replicas'],
          ['availableReplicas', 'readyReplicas', 'readyReplicas'],
        ],
        statusPath,
      ),
    ],
    selectableFields: (controller) => ({ 'status.replicas': String(controller.status?.replicas ?? 0) }),
    warnings: (controller, old, context) =>
      podTemplateWarnings(controller.spec.template, old?.spec.template, context.dialect),
    cells: (controller, context) => [
      controller.metadata.name ?? '',
      controller.spec.replicas ?? 0,
      controller.status?.replicas ?? 0,
      controller.status?.readyReplicas ?? 0,
      age(controller.metadata.creationTimestamp, context.now),
      ...containerCells(controller.spec.template?.spec?.containers),
      formatLabels(controller.spec.selector),
    ],
  },
);

function isEmpty(labels: Record<string, string> | undefined): boolean {
  return Object.keys(labels ?? {}).length === 0;
}

/** Labels of the template also become the selector and the controller's own labels by default. */
function defaultController(controller: Draft<ReplicationController>, dialect: Dialect): void {
  const { spec, metadata } = controller;
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined) {
    if (isEmpty(spec.selector)) spec.selector = { ...labels };
    if (isEmpty(metadata.labels)) metadata.labels = { ...labels };
  }
  defaultPodTemplate(spec.template, dialect);
}

function validateController(
  controller: ReplicationController,
  context: StrategyContext,
  old?: ReplicationController,
): FieldFailure[] {
  const { replicas, selector, template } = controller.spec;
  const rules = {
    scheme: context.scheme,
    options: podOptions(template, old?.spec.template, context),
    // Keys and values are not validated: an invalid label selects no template.
    selector: selectorFromLabels(selector),
    kind: 'ReplicationController',
    replicated: (replicas ?? 0) > 1,
  };
  return [
    ...checkReadySeconds(controller.spec, specPath),
    ...(isEmpty(selector) ? [required(specPath.child('selector'))] : []),
    ...checkReplicas(controller.spec, specPath),
    ...validateWorkloadTemplate(template, rules, specPath.child('template')),
  ];
}
