/**
 * The parts of a scale in custom objects. Source: 1.24,
 * …/pkg/{registry/customresource/{etcd,validator}.go,apiserver/customresource_handler.go}.
 */
import { membersOf } from '#api/apiextensions/v1/customresource/json-path.js';
import { isMembers } from '#api/apiextensions/v1/structural/structural.js';
import type { CustomResourceSubresourceScale } from '#api/apiextensions/v1/types.gen.js';
import type { ScaleParts } from '#api/strategy/strategy.js';
import { goText, goTypeOf } from '#apimachinery/errors/go-value.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/**
 * The result of a lookup in a custom object: a value of the type, nothing (`value` is undefined), or `fault`, the
 * message of 1.24 for another type. Source: 1.24,
 * staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go.
 */
export interface Nested<T> {
  readonly value?: T;
  readonly fault?: string;
}

export function nestedInteger(object: unknown, path: readonly string[]): Nested<number | bigint> {
  return nested(object, path, 'int64') as Nested<number | bigint>;
}

export function nestedString(object: unknown, path: readonly string[]): Nested<string> {
  return nested(object, path, 'string') as Nested<string>;
}

function nested(object: unknown, path: readonly string[], type: string): Nested<unknown> {
  let value = object;
  for (const [i, name] of path.entries()) {
    if (value === null) return {};
    if (!isMembers(value)) return { fault: faultOf(value, path.slice(0, i + 1), 'map[string]interface{}') };
    if (!Object.hasOwn(value, name)) return {};
    value = value[name];
  }
  return goTypeOf(value) === type ? { value } : { fault: faultOf(value, path, type) };
}

function faultOf(value: unknown, path: readonly string[], expected: string): string {
  const problem = `${goText(value)} is of the type ${goTypeOf(value)}, expected ${expected}`;
  return `.${path.join('.')} accessor error: ${problem}`;
}

const maxReplicas = 2 ** 31 - 1;

export function scaleParts(scale: CustomResourceSubresourceScale): ScaleParts {
  return {
    specReplicas: membersOf(scale.specReplicasPath),
    statusReplicas: membersOf(scale.statusReplicasPath),
    selector: scale.labelSelectorPath === undefined ? undefined : membersOf(scale.labelSelectorPath),
  };
}

/** Checks the spec: replicas must be a whole number that a scale can hold. */
export function validateScaleSpec(object: object, scale: CustomResourceSubresourceScale): readonly FieldFailure[] {
  return validateReplicas(object, scale.specReplicasPath);
}

/** Checks the status: replicas as in the spec, and the selector must be text. */
export function validateScaleStatus(object: object, scale: CustomResourceSubresourceScale): readonly FieldFailure[] {
  const failures = validateReplicas(object, scale.statusReplicasPath);
  const { labelSelectorPath } = scale;
  if (labelSelectorPath === undefined) return failures;
  const { fault } = nestedString(object, membersOf(labelSelectorPath));
  return fault === undefined ? failures : [...failures, invalidValue(FieldPath.of(labelSelectorPath), '', fault)];
}

/** Failures use the path of the definition: `.spec.replicas`. */
function validateReplicas(object: object, path: string): readonly FieldFailure[] {
  const { value = 0, fault } = nestedInteger(object, membersOf(path));
  const at = FieldPath.of(path);
  if (fault !== undefined) return [invalidValue(at, 0, fault)];
  if (value < 0) return [invalidValue(at, value, 'should be a non-negative integer')];
  return value > maxReplicas ? [invalidValue(at, value, `should be less than or equal to ${maxReplicas}`)] : none;
}
