/** Rules that workloads share: selectors that match their templates, consistent counts. */

import type { PodOptions } from '#api/core/v1/pod/validation/options.js';
import { defaultPodTemplate, validatePodTemplate } from '#api/core/v1/podtemplate/template.js';
import type { PodTemplateSpec, Volume } from '#api/core/v1/types.gen.js';
import { metaValues } from '#api/go/go-values.js';
import { isEmptySelector, validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { type IntOrString, parsePercent } from '#apimachinery/intstr.js';
import { fillDefaults } from '#apimachinery/schema/defaults.js';
import type { MessageDeclaration } from '#apimachinery/schema/schema.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import { compileSelector, type LabelSelector as Selector } from '#apimachinery/selectors/labels.js';
import { checkNonNegative } from '#apimachinery/validation/checks.js';
import {
  addAll,
  forbiddenField,
  goIntOrString,
  goStringMap,
  invalidEach,
  invalidValue,
  none,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { percentErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';

/** A selector that is required and must not be empty; `kind` is part of the message. */
export function validateWorkloadSelector(
  selector: LabelSelector | undefined,
  kind: string,
  path: FieldPath,
): readonly FieldFailure[] {
  if (selector === undefined) return [required(path)];
  const failures = [...validateLabelSelector(selector, path)];
  if (isEmptySelector(selector)) {
    failures.push(
      invalidValue(path, metaValues.of('LabelSelector', selector), `empty selector is invalid for ${kind}`),
    );
  }
  return failures;
}

export interface TemplateRules {
  readonly scheme: Scheme;
  /** Options from feature gates and the stored template; default: the gates of release 1.24. */
  readonly options?: PodOptions;
  /** The selector of the object; undefined if it cannot be compared with the template. */
  readonly selector: Selector | undefined;
  /** Name of the kind in the message about deadlines. */
  readonly kind: string;
  /** The template may have several pods on several nodes. */
  readonly replicated?: boolean;
  /** The kind cannot distinguish an absent template from an empty one; only the oldest kind can. */
  readonly emptyWhenAbsent?: boolean;
}

/** An empty template still has the defaults of a pod. */
export function completeTemplate(template: PodTemplateSpec | undefined, scheme: Scheme): PodTemplateSpec {
  if (template?.spec !== undefined) return template;
  const complete: Draft<PodTemplateSpec> = { ...copyJson(template), spec: { containers: [] } };
  fillDefaults(scheme.type('core.v1.PodTemplateSpec'), complete, () => true);
  defaultPodTemplate(complete, scheme.dialect);
  return complete;
}

/** For kinds that validate the template only with a valid selector; `detail` is the failure otherwise. */
export function validateSelectedTemplate(
  selector: LabelSelector | undefined,
  { detail, path }: { readonly detail: string; readonly path: FieldPath },
  validate: (selector: Selector) => readonly FieldFailure[],
): readonly FieldFailure[] {
  const compiled = compileSelector(selector);
  if (compiled !== undefined) return validate(compiled);
  return [invalidValue(path, selector && metaValues.of('LabelSelector', selector), detail)];
}

/** The selector must match the template, whose pods must restart always. */
export function validateWorkloadTemplate(
  given: PodTemplateSpec | undefined,
  rules: TemplateRules,
  path: FieldPath,
): readonly FieldFailure[] {
  if (given === undefined && rules.emptyWhenAbsent !== true) return [required(path)];
  const template = completeTemplate(given, rules.scheme);
  const failures = [...templateMatchesSelector(template, rules.selector, path)];
  addAll(failures, validatePodTemplate(template, rules.scheme.dialect, path, rules.options));
  if (rules.replicated === true) {
    addAll(failures, validateReplicatedVolumes(template.spec?.volumes ?? [], path.child('spec', 'volumes')));
  }
  return [...failures, ...validateEndlessTemplate(template, rules.kind, path)];
}

/** The template's pods must restart always. */
export function validateEndlessTemplate({ spec }: PodTemplateSpec, kind: string, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const restartPolicy = spec?.restartPolicy ?? '';
  if (restartPolicy !== 'Always') {
    failures.push(notSupported(path.child('spec', 'restartPolicy'), restartPolicy, ['Always']));
  }
  if (spec?.activeDeadlineSeconds !== undefined) {
    const text = `activeDeadlineSeconds in ${kind} is not Supported`;
    failures.push(forbiddenField(path.child('spec', 'activeDeadlineSeconds'), text));
  }
  return failures;
}

/** A disk writable by one node cannot be shared by pods on several nodes. */
function validateReplicatedVolumes(volumes: readonly Volume[], path: FieldPath): FieldFailure[] {
  return volumes.flatMap(({ gcePersistentDisk }, i) => {
    if (gcePersistentDisk === undefined || gcePersistentDisk.readOnly === true) return [];
    const text =
      'must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only';
    return [invalidValue(path.index(i).child('gcePersistentDisk', 'readOnly'), false, text)];
  });
}

/** An invalid selector is skipped; an empty one matches no template. */
export function templateMatchesSelector(
  template: PodTemplateSpec,
  selector: Selector | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  const labels = template.metadata?.labels;
  if (selector?.matches(labels ?? {}) !== false) return none;
  const text = '`selector` does not match template `labels`';
  return [invalidValue(path.child('metadata', 'labels'), goStringMap(labels), text)];
}

/** A count or percentage that is not negative. */
export function checkIntOrPercent(path: FieldPath, value: IntOrString | undefined): readonly FieldFailure[] {
  if (typeof value === 'string') return invalidEach(path, goIntOrString(value), percentErrors(value));
  return checkNonNegative(path, value);
}

/** A percentage of at most 100. */
export function checkAtMost100Percent(path: FieldPath, value: IntOrString | undefined): FieldFailure[] {
  const percent = value === undefined ? undefined : parsePercent(value);
  if (value === undefined || percent === undefined || percent <= 100) return [];
  return [invalidValue(path, goIntOrString(value), 'must not be greater than 100%')];
}

/** True for `0`, `0%` and invalid percentages. */
export function isZero(value: IntOrString | undefined): boolean {
  return value === 0 || (typeof value === 'string' && (parsePercent(value) ?? 0) === 0);
}

/** Counts in a status; a part must not exceed its total. */
export function validateParts<K extends string>(
  status: Partial<Record<K, number>>,
  limits: readonly (readonly [part: K, whole: K, wholeName: string])[],
  path: FieldPath,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [part, whole, wholeName] of limits) {
    const value = status[part] ?? 0;
    if (value > (status[whole] ?? 0)) {
      failures.push(invalidValue(path.child(part), value, `cannot be greater than ${wholeName}`));
    }
  }
  return failures;
}

interface Collided {
  readonly collisionCount?: number;
}

/** The counter of name collisions must not decrease. */
export function collisionCheck(
  type: MessageDeclaration,
): (status: Collided | undefined, old: Collided | undefined, path: FieldPath) => readonly FieldFailure[] {
  const check = rangesOf(type, 'collisionCount');
  return (status, old, path) => {
    const failures = check(status, path);
    const count = status?.collisionCount;
    const before = old?.collisionCount;
    if (before === undefined || (count !== undefined && count >= before)) return failures;
    return [...failures, invalidValue(path.child('collisionCount'), count ?? 0, 'cannot be decremented')];
  };
}
