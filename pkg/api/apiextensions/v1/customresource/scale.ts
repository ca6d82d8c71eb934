/**
 * Where the parts of a scale are in custom objects. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/
 * {registry/customresource/{etcd,validator}.go,apiserver/customresource_handler.go}.
 */
import { membersOf } from '#api/apiextensions/v1/customresource/json-path.js';
import { nestedInteger, nestedString } from '#api/apiextensions/v1/customresource/nested.js';
import type { CustomResourceSubresourceScale } from '#api/apiextensions/v1/types.gen.js';
import type { ScaleParts } from '#api/strategy/strategy.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue, none } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const maxReplicas = 2 ** 31 - 1;

export function scaleParts(scale: CustomResourceSubresourceScale): ScaleParts {
  return {
    specReplicas: membersOf(scale.specReplicasPath),
    statusReplicas: membersOf(scale.statusReplicasPath),
    selector: scale.labelSelectorPath === undefined ? undefined : membersOf(scale.labelSelectorPath),
  };
}

/** Of the spec: replicas are whole numbers that a scale can hold. */
export function validateScaleSpec(object: object, scale: CustomResourceSubresourceScale): readonly FieldFailure[] {
  return validateReplicas(object, scale.specReplicasPath);
}

/** Of the status: the same, and the selector is a text. */
export function validateScaleStatus(object: object, scale: CustomResourceSubresourceScale): readonly FieldFailure[] {
  const failures = validateReplicas(object, scale.statusReplicasPath);
  const { labelSelectorPath } = scale;
  if (labelSelectorPath === undefined) return failures;
  const { fault } = nestedString(object, membersOf(labelSelectorPath));
  return fault === undefined ? failures : [...failures, invalidValue(FieldPath.of(labelSelectorPath), '', fault)];
}

/** Fields are called what the definition calls them: `.spec.replicas`. */
function validateReplicas(object: object, path: string): readonly FieldFailure[] {
  const { value = 0, fault } = nestedInteger(object, membersOf(path));
  const at = FieldPath.of(path);
  if (fault !== undefined) return [invalidValue(at, 0, fault)];
  if (value < 0) return [invalidValue(at, value, 'should be a non-negative integer')];
  return value > maxReplicas ? [invalidValue(at, value, `should be less than or equal to ${maxReplicas}`)] : none;
}
