/** Rules of requests and limits. */

import { defaultPodOptions, type PodOptions } from '#api/core/v1/pod/validation/options.js';
import {
  isDivisibleHugePages,
  isExtendedResource,
  isHugePages,
  isIntegerResource,
  isNativeResource,
  isOvercommitAllowed,
  isStandardContainerResource,
  isStandardResource,
} from '#api/core/v1/resource-names.js';
import type { ResourceRequirements } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compareQuantities, parseQuantity, quantitySign } from '#apimachinery/quantity.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export function validateResourceRequirements(
  resources: ResourceRequirements | undefined,
  dialect: Dialect,
  path: FieldPath,
  options: Pick<PodOptions, 'indivisibleHugePages'> = defaultPodOptions,
): FieldFailure[] {
  if (resources === undefined) return [];
  const { limits = {}, requests = {} } = resources;
  const failures: FieldFailure[] = [];
  const wholePages = (name: string, quantity: string, at: FieldPath): FieldFailure[] => {
    if (options.indivisibleHugePages || !isHugePages(name) || isDivisibleHugePages(name, quantity)) return [];
    return [invalidValue(at, quantity, `${quantity} is not positive integer multiple of ${name}`)];
  };
  for (const [name, quantity] of Object.entries(limits)) {
    const at = path.child('limits').key(name);
    failures.push(...validateContainerResourceName(name, dialect, at));
    failures.push(...validateResourceQuantity(name, quantity, dialect, at));
    failures.push(...wholePages(name, quantity, at));
  }
  for (const [name, quantity] of Object.entries(requests)) {
    const at = path.child('requests').key(name);
    failures.push(...validateContainerResourceName(name, dialect, at));
    failures.push(...validateResourceQuantity(name, quantity, dialect, at));
    failures.push(...requestWithinLimit(name, quantity, limits[name], dialect, path));
    failures.push(...wholePages(name, quantity, at));
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    failures.push(forbiddenField(path, 'HugePages require cpu or memory'));
  }
  return failures;
}

function requestWithinLimit(
  name: string,
  request: string,
  limit: string | undefined,
  dialect: Dialect,
  path: FieldPath,
): FieldFailure[] {
  const overcommit = isOvercommitAllowed(name, dialect);
  if (limit === undefined) {
    return overcommit ? [] : [required(path.child('limits'), 'Limit must be set for non overcommitable resources')];
  }
  const order = compareQuantities(request, limit);
  if (!overcommit && order !== 0) {
    return [invalidValue(path.child('requests'), request, `must be equal to ${name} limit`)];
  }
  return order > 0
    ? [invalidValue(path.child('requests'), request, `must be less than or equal to ${name} limit`)]
    : [];
}

/** A resource that containers may ask for. */
export function validateContainerResourceName(name: string, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const failures = validateResourceName(name, path);
  if (!name.includes('/')) {
    if (!isStandardContainerResource(name)) {
      failures.push(invalidValue(path, name, 'must be a standard resource for containers'));
    }
  } else if (!isNativeResource(name, dialect) && !isExtendedResource(name, dialect)) {
    failures.push(invalidValue(path, name, "doesn't follow extended resource name standard"));
  }
  return failures;
}

/** Any resource's name: qualified, and one of the known ones when it has no domain. */
export function validateResourceName(name: string, path: FieldPath): FieldFailure[] {
  const failures = checkQualifiedName(path, name);
  if (failures.length > 0 || name.includes('/') || isStandardResource(name)) return failures;
  return [invalidValue(path, name, 'must be a standard resource type or fully qualified')];
}

/** Not negative, and whole where only whole numbers make sense. */
export function validateResourceQuantity(
  name: string,
  quantity: string,
  dialect: Dialect,
  path: FieldPath,
): FieldFailure[] {
  const failures = checkNonNegativeQuantity(path, quantity);
  if (isIntegerResource(name, dialect) && parseQuantity(quantity).nanos % 1_000_000_000n !== 0n) {
    failures.push(invalidValue(path, quantity, 'must be an integer'));
  }
  return failures;
}

export function checkNonNegativeQuantity(path: FieldPath, quantity: string): FieldFailure[] {
  if (quantitySign(quantity) >= 0) return [];
  return [invalidValue(path, quantity, 'must be greater than or equal to 0')];
}
