/**
 * Where the parts of a scale are in custom objects. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/
 * {registry/customresource/{etcd,validator}.go,apiserver/customresource_handler.go}.
 */
import { membersOf } from '#api/apiextensions/v1/customresource/json-path.js';
import type { CustomResourceSubresourceScale } from '#api/apiextensions/v1/types.gen.js';
import type { ScaleParts } from '#api/strategy/strategy.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { valueAt } from '#apimachinery/patch/json-values.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const maxReplicas = 2 ** 31 - 1;

export function scaleParts(scale: CustomResourceSubresourceScale): ScaleParts {
  return {
    specReplicas: membersOf(scale.specReplicasPath),
    statusReplicas: membersOf(scale.statusReplicasPath),
    selector: scale.labelSelectorPath === undefined ? undefined : membersOf(scale.labelSelectorPath),
  };
}

/** Replicas are whole numbers that a scale can hold, and the selector is one. */
export function validateScale(object: object, scale: CustomResourceSubresourceScale): FieldFailure[] {
  const { specReplicas, statusReplicas, selector } = scaleParts(scale);
  const failures: FieldFailure[] = [];
  for (const path of [specReplicas, statusReplicas]) {
    const value = valueAt(object, path);
    if (value === undefined || value === null) continue;
    const at = FieldPath.of(...path);
    if (typeof value !== 'bigint' && !Number.isInteger(value)) {
      failures.push(invalidValue(at, value, 'should be a 32-bit integer'));
    } else if ((value as number | bigint) < 0)
      failures.push(invalidValue(at, value, 'should be a non-negative integer'));
    else if ((value as number | bigint) > maxReplicas) {
      failures.push(invalidValue(at, value, `should be less than or equal to ${maxReplicas}`));
    }
  }
  const text = selector === undefined ? undefined : valueAt(object, selector);
  if (selector !== undefined && typeof text === 'string') {
    try {
      parseLabelSelector(text);
    } catch (error) {
      failures.push(invalidValue(FieldPath.of(...selector), text, messageOf(error)));
    }
  }
  return failures;
}
