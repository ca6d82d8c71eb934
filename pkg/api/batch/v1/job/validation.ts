/** Rules and defaults of jobs and of job templates in cron jobs. */

import { declaration as jobs } from '#api/batch/v1/job.js';
import { declaration as schema } from '#api/batch/v1/shared.js';
import type { Job, JobSpec, JobStatus } from '#api/batch/v1/types.gen.js';
import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { validatePodTemplate } from '#api/core/v1/podtemplate/template.js';
import { completeTemplate, templateMatchesSelector } from '#api/core/v1/workload/validation.js';
import { metaValues } from '#api/go/go-values.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  goStringMap,
  invalidValue,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

/** Labels that identify a job's pods. */
export const jobLabels = { controllerUID: 'controller-uid', name: 'job-name' } as const;

const checkSpecRanges = rangesOf(
  schema.types.JobSpec,
  ...['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'],
);
const checkStatusRanges = rangesOf(jobs.types.JobStatus, 'active', 'succeeded', 'failed', 'ready');
/** An indexed job stores one bit per index, so their number is limited. */
const maxIndexedParallelism = 100_000;

/** All rules except those of the selector. */
export function validateJobSpec(spec: JobSpec, scheme: Scheme, path: FieldPath, options?: PodOptions): FieldFailure[] {
  const failures = [...checkSpecRanges(spec, path)];
  addAll(failures, checkOptionalEnum(path.child('completionMode'), spec.completionMode, schema.enums.CompletionMode));
  if (spec.completionMode === 'Indexed') {
    if (spec.completions === undefined) {
      failures.push(required(path.child('completions'), 'when completion mode is Indexed'));
    }
    if ((spec.parallelism ?? 0) > maxIndexedParallelism) {
      const text = `must be less than or equal to ${maxIndexedParallelism} when completion mode is Indexed`;
      failures.push(invalidValue(path.child('parallelism'), spec.parallelism, text));
    }
  }
  const at = path.child('template');
  const template = completeTemplate(spec.template, scheme);
  addAll(failures, validatePodTemplate(template, scheme.dialect, at, options));
  return [...failures, ...validateRestartPolicy(template.spec?.restartPolicy ?? '', at.child('spec', 'restartPolicy'))];
}

function validateRestartPolicy(policy: string, path: FieldPath): FieldFailure[] {
  // Always is the default of pods, so the message requires another policy.
  if (policy === 'Always' || policy === '') return [required(path, 'valid values: "OnFailure", "Never"')];
  return policy === 'OnFailure' || policy === 'Never' ? [] : [notSupported(path, policy, ['OnFailure', 'Never'])];
}

/** A job's selector must exist, be valid and select the job's own pods. */
export function validateJobSelector(spec: JobSpec, path: FieldPath): FieldFailure[] {
  const at = path.child('selector');
  const failures = spec.selector === undefined ? [required(at)] : validateLabelSelector(spec.selector, at);
  return [
    ...failures,
    ...templateMatchesSelector(spec.template ?? {}, compileSelector(spec.selector), path.child('template')),
  ];
}

/** Without a selector of the client, the pods have the generated labels, which the selector requires. */
export function validateGeneratedSelector({ spec, metadata }: Job): FieldFailure[] {
  if (spec.manualSelector === true || spec.selector === undefined) return [];
  const { uid = '', name = '' } = metadata;
  const failures = uid === '' ? [required(FieldPath.of('metadata', 'uid'))] : [];
  const generatedLabels = { [jobLabels.controllerUID]: uid, [jobLabels.name]: name };
  const labels = spec.template?.metadata?.labels ?? {};
  const labelsPath = FieldPath.of('spec', 'template', 'metadata', 'labels');
  for (const [key, value] of Object.entries(generatedLabels)) {
    if (labels[key] === value) continue;
    const text = `must be '${value}'`;
    const at = labelsPath.key(key);
    failures.push(labels[key] === undefined ? required(at, text) : invalidValue(at, goStringMap(labels), text));
  }
  const path = FieldPath.of('spec', 'selector');
  if (compileSelector(spec.selector)?.matches(generatedLabels) !== false) return failures;
  return [
    ...failures,
    invalidValue(path, metaValues.of('LabelSelector', spec.selector), '`selector` not auto-generated'),
  ];
}

/** Counts and uncounted pods, each of them once. */
export function validateJobStatus(status: JobStatus, path: FieldPath): FieldFailure[] {
  const failures = [...checkStatusRanges(status, path)];
  const seen = new Set<string>();
  for (const field of ['succeeded', 'failed'] as const) {
    status.uncountedTerminatedPods?.[field]?.forEach((uid, i) => {
      const at = path.child('uncountedTerminatedPods', field).index(i);
      if (uid === '') failures.push(invalidValue(at, uid, 'must not be empty'));
      else if (seen.has(uid)) failures.push(duplicate(at, uid));
      seen.add(uid);
    });
  }
  return failures;
}
