import { validateDeployment, validateDeploymentStatus } from '#api/apps/v1/deployment/validation.js';
import { deployments } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import type { TableRowCells } from '#api/meta/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { formatLabelSelector } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';

/** In place. */
function defaultDeployment(deployment: Draft<Deployment>, dialect: Dialect): void {
  const { spec } = deployment;
  spec.strategy ??= {};
  spec.strategy.type ||= 'RollingUpdate';
  if (spec.strategy.type === 'RollingUpdate') {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= '25%';
    spec.strategy.rollingUpdate.maxSurge ??= '25%';
  }
  defaultPodTemplate(spec.template, dialect);
}

export const deploymentStrategy: Strategy<Deployment> = kindStrategy<Deployment>(deployments, {
  anyGenerateNameOnUpdate: true,
  generationFields: ['spec', 'metadata.annotations'],
  statusUpdateKeepsLabels: true,
  defaults: (deployment, context) => defaultDeployment(deployment, context.dialect),
  validate: validateDeployment,
  validateStatusUpdate: (deployment, old) => validateDeploymentStatus(deployment, old),
  warnings: (deployment, old, context) =>
    podTemplateWarnings(deployment.spec.template, old?.spec.template, context.dialect),
  cells: (deployment, context) => deploymentCells(deployment, context.now),
});

function deploymentCells(deployment: Deployment, now: number): TableRowCells {
  const { metadata, spec, status } = deployment;
  return [
    metadata.name ?? '',
    `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    status?.updatedReplicas ?? 0,
    status?.availableReplicas ?? 0,
    age(metadata.creationTimestamp, now),
    ...containerCells(spec.template?.spec?.containers),
    formatLabelSelector(spec.selector),
  ];
}
