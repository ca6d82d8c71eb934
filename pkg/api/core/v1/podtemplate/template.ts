/** Defaults and rules of pod templates, shared by all workloads. */

import { defaultPodSpec } from '#api/core/v1/pod/defaults.js';
import { validatePodAnnotations, validateSeccompAgreement } from '#api/core/v1/pod/validation/annotations.js';
import { defaultPodOptions, type PodOptions } from '#api/core/v1/pod/validation/options.js';
import { validatePodSpec } from '#api/core/v1/pod/validation/spec.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { validateAnnotations, validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { forbiddenField } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** In place. */
export function defaultPodTemplate(template: Draft<PodTemplateSpec | undefined>, dialect: Dialect): void {
  if (template?.spec !== undefined) defaultPodSpec(template.spec, dialect);
}

/**
 * Rules of labels, annotations and spec; ephemeral containers are refused. The options are those of `podOptions` for
 * the template and the stored one.
 */
export function validatePodTemplate(
  template: PodTemplateSpec,
  dialect: Dialect,
  path: FieldPath,
  options: PodOptions = defaultPodOptions,
): FieldFailure[] {
  const spec = template.spec ?? { containers: [] };
  const failures = [
    ...validateTemplateMetadata(template, { dialect, options }, path),
    ...validatePodSpec(spec, { dialect, options, podName: '' }, path.child('spec')),
    ...validateSeccompAgreement(template, dialect, path.child('spec')),
  ];
  if ((spec.ephemeralContainers ?? []).length > 0) {
    const text = 'ephemeral containers not allowed in pod template';
    failures.push(forbiddenField(path.child('spec', 'ephemeralContainers'), text));
  }
  return failures;
}

/** Labels and annotations. */
export function validateTemplateMetadata(
  template: PodTemplateSpec,
  rules: { readonly dialect: Dialect; readonly options: PodOptions },
  path: FieldPath,
): FieldFailure[] {
  return [
    ...validateLabels(template.metadata?.labels, path.child('labels')),
    ...validateAnnotations(template.metadata?.annotations, path.child('annotations')),
    ...validatePodAnnotations(template, rules, path.child('annotations')),
  ];
}
