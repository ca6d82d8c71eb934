/** What is particular to jobs. */

import { validateJobSelector, validateJobSpec } from '#api/batch/v1/job/validation.js';
import { jobs } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age, humanDuration } from '#api/table/age.js';
import { containerCells, formatLabelSelector } from '#api/table/text.js';
import { parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkNonNegative } from '#apimachinery/validation/checks.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const statusPath = FieldPath.of('status');
/** Labels that tell a job's pods from all others. */
const controllerUIDLabel = 'controller-uid';
const jobNameLabel = 'job-name';

export const jobStrategy: Strategy<Job> = kindStrategy<Job>(jobs, {
  generationFields: ['spec'],
  // Clients of this version expect a job's pods to outlive it.
  defaultPropagation: 'Orphan',
  defaults: (job, context) => defaultJob(job, context.dialect),
  completeCreate: generateSelector,
  validate: (job, context) => [
    ...validateJobSpec(job.spec, context.dialect, specPath),
    ...validateJobSelector(job.spec, specPath),
  ],
  validateUpdate: (job, old) => validateFixedFields(job, old),
  validateStatusUpdate: (job) =>
    (['active', 'succeeded', 'failed', 'ready'] as const).flatMap((field) =>
      checkNonNegative(statusPath.child(field), job.status?.[field]),
    ),
  selectableFields: (job) => ({ 'status.successful': String(job.status?.succeeded ?? 0) }),
  warnings: (job, old, context) => podTemplateWarnings(job.spec.template, old?.spec.template, context.dialect),
  cells: (job, context) => jobCells(job, context.now),
});

function defaultJob(job: Job, dialect: Dialect): void {
  const { spec, metadata } = job;
  // Neither given: one pod, once. Only completions given: one at a time.
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= 6;
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  defaultPodTemplate(spec.template, dialect);
}

/** Unless the client brings its own selector, the job's uid marks its pods. */
function generateSelector(job: Job): void {
  const { spec, metadata } = job;
  if (spec.manualSelector === true || spec.template === undefined) return;
  const uid = metadata.uid ?? '';
  spec.template.metadata = {
    ...spec.template.metadata,
    labels: { ...spec.template.metadata?.labels, [controllerUIDLabel]: uid, [jobNameLabel]: metadata.name ?? '' },
  };
  spec.selector = {
    ...spec.selector,
    matchLabels: { ...spec.selector?.matchLabels, [controllerUIDLabel]: uid },
  };
}

function validateFixedFields(job: Job, old: Job): FieldFailure[] {
  return (['completions', 'selector', 'template', 'completionMode'] as const).flatMap((field) =>
    validateImmutable(job.spec[field], old.spec[field], specPath.child(field)),
  );
}

function jobCells(job: Job, now: number): TableRowCells {
  const { metadata, spec, status } = job;
  return [
    metadata.name ?? '',
    completionsText(job),
    durationText(status?.startTime, status?.completionTime, now),
    age(metadata.creationTimestamp, now),
    ...containerCells(spec.template?.spec?.containers),
    formatLabelSelector(spec.selector),
  ];
}

function completionsText(job: Job): string {
  const succeeded = job.status?.succeeded ?? 0;
  if (job.spec.completions !== undefined) return `${succeeded}/${job.spec.completions}`;
  const parallelism = job.spec.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText(start: string | undefined, end: string | undefined, now: number): string {
  if (start === undefined) return '';
  return humanDuration((end === undefined ? now : parseTime(end)) - parseTime(start));
}
