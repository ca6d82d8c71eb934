/** Rules of deployments. */
import { declaration as schema } from '#api/apps/v1/deployment.js';
import type { Deployment, DeploymentStatus, DeploymentStrategy } from '#api/apps/v1/types.gen.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import {
  checkAtMost100Percent,
  checkIntOrPercent,
  collisionCheck,
  isZero,
  validateParts,
  validateSelectedTemplate,
  validateWorkloadSelector,
  validateWorkloadTemplate,
} from '#api/core/v1/workload/validation.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, forbiddenField, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

const checkReplicas = rangesOf(schema.types.DeploymentSpec, 'replicas');
const checkTimes = rangesOf(
  schema.types.DeploymentSpec,
  'minReadySeconds',
  'revisionHistoryLimit',
  'progressDeadlineSeconds',
);
const checkCounts = rangesOf(
  schema.types.DeploymentStatus,
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
);
const checkCollisions = collisionCheck(schema.types.DeploymentStatus);
const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');

export function validateDeployment(deployment: Deployment, context: StrategyContext, old?: Deployment): FieldFailure[] {
  const { spec } = deployment;
  const minReady = spec.minReadySeconds ?? 0;
  const deadline = spec.progressDeadlineSeconds;
  const failures = [
    ...checkReplicas(spec, specPath),
    ...validateWorkloadSelector(spec.selector, 'deployment', specPath.child('selector')),
    ...validateSelectedTemplate(
      spec.selector,
      { detail: 'invalid label selector', path: specPath.child('selector') },
      (selector) =>
        validateWorkloadTemplate(
          spec.template,
          {
            scheme: context.scheme,
            options: podOptions(spec.template, old?.spec.template, context),
            selector,
            kind: 'ReplicaSet',
            emptyWhenAbsent: true,
            replicated: (spec.replicas ?? 0) > 1,
          },
          specPath.child('template'),
        ),
    ),
    ...validateStrategy(spec.strategy ?? {}, specPath.child('strategy')),
    ...checkTimes(spec, specPath),
  ];
  if (deadline !== undefined && deadline <= minReady) {
    const text = 'must be greater than minReadySeconds';
    failures.push(invalidValue(specPath.child('progressDeadlineSeconds'), deadline, text));
  }
  return failures;
}

function validateStrategy(strategy: DeploymentStrategy, path: FieldPath): FieldFailure[] {
  const rolling = strategy.rollingUpdate;
  const at = path.child('rollingUpdate');
  switch (strategy.type) {
    case 'Recreate':
      if (rolling === undefined) return [];
      return [forbiddenField(at, "may not be specified when strategy `type` is 'Recreate'")];
    case 'RollingUpdate': {
      if (rolling === undefined) return [required(at, 'this should be defaulted and never be nil')];
      const failures = [
        ...checkIntOrPercent(at.child('maxUnavailable'), rolling.maxUnavailable),
        ...checkIntOrPercent(at.child('maxSurge'), rolling.maxSurge),
      ];
      if (isZero(rolling.maxUnavailable) && isZero(rolling.maxSurge)) {
        const text = 'may not be 0 when `maxSurge` is 0';
        failures.push(invalidValue(at.child('maxUnavailable'), rolling.maxUnavailable, text));
      }
      addAll(failures, checkAtMost100Percent(at.child('maxUnavailable'), rolling.maxUnavailable));
      return failures;
    }
    default:
      return [notSupported(path, strategy, schema.enums.DeploymentStrategyType)];
  }
}

export function validateDeploymentStatus(deployment: Deployment, old: Deployment): FieldFailure[] {
  const status: DeploymentStatus = deployment.status ?? {};
  const replicas = 'status.replicas';
  return [
    ...checkCounts(status, statusPath),
    ...validateParts(
      status,
      [
        ['updatedReplicas', 'replicas', replicas],
        ['readyReplicas', 'replicas', replicas],
        ['availableReplicas', 'replicas', replicas],
        ['availableReplicas', 'readyReplicas', 'readyReplicas'],
      ],
      statusPath,
    ),
    ...checkCollisions(status, old.status, statusPath),
  ];
}
