import {
  jobLabels,
  validateGeneratedSelector,
  validateJobSelector,
  validateJobSpec,
  validateJobStatus,
} from '#api/batch/v1/job/validation.js';
import { jobs } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate } from '#api/core/v1/podtemplate/template.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { TableRowCells } from '#api/meta/object.js';
import { changedField } from '#api/strategy/immutable-fields.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age, humanDuration } from '#api/table/age.js';
import { formatLabelSelector } from '#api/table/text.js';
import { parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField, invalidValue } from '#apimachinery/validation/failure.js';
import { dns1123LabelErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');

/** Random characters at the end of a generated name. */
const generatedLength = 5;

/** Warning for clients whose delete requests do not specify what happens to the pods. */
const deletionWarning =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning';

export const jobStrategy: Strategy<Job> = kindStrategy<Job>(jobs, {
  generationFields: ['spec'],
  // Clients of this version expect a job's pods to outlive it.
  defaultPropagation: 'Orphan',
  defaults: (job, context) => defaultJob(job, context.dialect),
  prepareForCreate: markTracking,
  completeCreate: generateSelector,
  validate: (job, context, old) => [
    ...validateGeneratedSelector(job),
    ...validateJobSpec(job.spec, context.scheme, specPath, podOptions(job.spec.template, old?.spec.template, context)),
    ...validateJobSelector(job.spec, specPath),
    ...validatePodHostnames(job),
  ],
  validateUpdate: (job, old, context) => [
    ...validateFixedFields(job, old, context),
    ...validateTrackingMark(job, old, context.dialect),
  ],
  validateStatusUpdate: (job) => validateJobStatus(job.status ?? {}, FieldPath.of('status')),
  fieldRefusal: (field) => `field label ${quoted(field)} not supported for Job`,
  deletionWarning,
  selectableFields: (job) => ({ 'status.successful': String(job.status?.succeeded ?? 0) }),
  warnings: (job, old, context) => podTemplateWarnings(job.spec.template, old?.spec.template, context.dialect),
  cells: (job, context) => jobCells(job, context.now),
});

function defaultJob(job: Draft<Job>, dialect: Dialect): void {
  const { spec, metadata } = job;
  // Without both: one pod, once. With completions only: one pod at a time.
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= 6;
  if (isEmpty(metadata.labels)) inheritLabels(job);
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  defaultPodTemplate(spec.template, dialect);
}

function isEmpty(labels: object | undefined): boolean {
  return labels === undefined || Object.keys(labels).length === 0;
}

function inheritLabels({ spec, metadata }: Draft<Job>): void {
  const labels = spec.template?.metadata?.labels;
  if (labels === undefined) return;
  // As in 1.24 it is the same map, which distinguishes it from labels of the client.
  metadata.labels = labels;
}

function isTracked(job: Job, dialect: Dialect): boolean {
  return job.metadata.annotations?.[dialect.jobTracking] !== undefined;
}

/** While the gate is on every new job gets the annotation, and while it is off none has it. */
function markTracking({ metadata }: Draft<Job>, { dialect, gate }: StrategyContext): void {
  const mark = dialect.jobTracking;
  if (gate('JobTrackingWithFinalizers')) metadata.annotations = { ...metadata.annotations, [mark]: '' };
  else if (metadata.annotations !== undefined) delete metadata.annotations[mark];
}

/** Tracking by finalizers cannot be enabled for an existing job. */
function validateTrackingMark(job: Job, old: Job, dialect: Dialect): FieldFailure[] {
  if (!isTracked(job, dialect) || isTracked(old, dialect)) return [];
  const path = FieldPath.of('metadata', 'annotations').key(dialect.jobTracking);
  return [forbiddenField(path, 'cannot add this annotation')];
}

/**
 * Unless the client sets its own selector, the job's uid becomes a label of its pods. Labels of the client stay, so
 * that validation refuses conflicting ones. A job without own labels gets those of its pods.
 */
function generateSelector(job: Draft<Job>): void {
  const { spec, metadata } = job;
  if (spec.manualSelector === true) return;
  spec.template ??= {};
  const { uid = '', name = '', generateName = '' } = metadata;
  const labels = { [jobLabels.controllerUID]: uid, [jobLabels.name]: name, ...spec.template.metadata?.labels };
  // An earlier attempt with another generated name left its label.
  if (generateName !== '' && labels[jobLabels.name]?.startsWith(name.slice(0, -generatedLength))) {
    labels[jobLabels.name] = name;
  }
  const isInherited = metadata.labels === spec.template.metadata?.labels;
  spec.template.metadata = { ...spec.template.metadata, labels };
  if (isInherited || metadata.labels === undefined) inheritLabels(job);
  spec.selector = {
    ...spec.selector,
    matchLabels: { [jobLabels.controllerUID]: uid, ...spec.selector?.matchLabels },
  };
}

/** Pods of an indexed job have host names made of the job's name and their index. */
function validatePodHostnames({ spec, metadata }: Job): FieldFailure[] {
  const completions = spec.completions ?? 0;
  if (spec.completionMode !== 'Indexed' || completions <= 0) return [];
  const name = metadata.name ?? '';
  const last = `${name}-${completions - 1}`;
  if (dns1123LabelErrors(last).length === 0) return [];
  const text = `will not able to create pod with invalid DNS label: ${last}`;
  return [invalidValue(FieldPath.of('metadata', 'name'), name, text)];
}

function validateFixedFields(job: Job, old: Job, { gate, scheme }: StrategyContext): FieldFailure[] {
  const type = scheme.type('batch.v1.JobSpec');
  const changed = (name: 'completions' | 'selector' | 'completionMode' | 'template') =>
    changedField(type, { name, value: job.spec[name] }, specPath.child(name));
  const failures = (['completions', 'selector', 'completionMode'] as const)
    .filter((name) => !semanticEqual(job.spec[name], old.spec[name]))
    .map(changed);
  // Until its first pod is created, scheduling directives of a suspended job may change.
  const waiting = old.spec.suspend === true && old.status?.startTime === undefined;
  const directed = waiting && gate('JobMutableNodeSchedulingDirectives');
  const template = (of: Job) => (directed ? withoutDirectives(of.spec.template) : of.spec.template);
  if (semanticEqual(template(job), template(old))) return failures;
  return semanticEqual(job.spec.template, old.spec.template) ? failures : [...failures, changed('template')];
}

/** The template without scheduling directives. */
function withoutDirectives(template: PodTemplateSpec | undefined): object {
  const { labels: _labels, annotations: _annotations, ...metadata } = template?.metadata ?? {};
  const { nodeSelector: _selector, tolerations: _tolerations, affinity, ...spec } = template?.spec ?? {};
  const { nodeAffinity: _nodes, ...pods } = affinity ?? {};
  return { metadata, spec: Object.keys(pods).length === 0 ? spec : { ...spec, affinity: pods } };
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
