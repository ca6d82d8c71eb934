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
} from '#api/core/v1/resources/names.js';
import type { ResourceRequirements } from '#api/core/v1/types.gen.js';
import { goQuantityValue } from '#api/go/go-values.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compareQuantities, isWholeQuantity, quantitySign } from '#apimachinery/quantity.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidValue, joined, none, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export function validateResourceRequirements(
  resources: ResourceRequirements | undefined,
  dialect: Dialect,
  path: FieldPath,
  options: Pick<PodOptions, 'indivisibleHugePages'> = defaultPodOptions,
): readonly FieldFailure[] {
  if (resources === undefined) return none;
  const { limits, requests } = resources;
  const failures: FieldFailure[] = [];
  let hasPages = false;
  const limitsPath = path.child('limits');
  for (const name in limits) {
    hasPages ||= isHugePages(name);
    const quantity = limits[name] ?? '';
    const at = limitsPath.key(name);
    addAll(failures, validateContainerResource(name, quantity, dialect, at));
    if (!options.indivisibleHugePages) addAll(failures, wholePages(name, quantity, at));
  }
  const requestsPath = path.child('requests');
  for (const name in requests) {
    hasPages ||= isHugePages(name);
    const quantity = requests[name] ?? '';
    const at = requestsPath.key(name);
    addAll(failures, validateContainerResource(name, quantity, dialect, at));
    const limit = limits !== undefined && Object.hasOwn(limits, name) ? limits[name] : undefined;
    addAll(failures, requestWithinLimit(name, quantity, limit, dialect, path));
    if (!options.indivisibleHugePages) addAll(failures, wholePages(name, quantity, at));
  }
  if (hasPages && !hasProcessorOrMemory(limits) && !hasProcessorOrMemory(requests))
    failures.push(forbiddenField(path, 'HugePages require cpu or memory'));
  return failures;
}

function wholePages(name: string, quantity: string, path: FieldPath): readonly FieldFailure[] {
  if (!isHugePages(name) || isDivisibleHugePages(name, quantity)) return none;
  return [invalidValue(path, quantity, `${quantity} is not positive integer multiple of ${name}`)];
}

function hasProcessorOrMemory(list: Readonly<Record<string, string>> | undefined): boolean {
  return list !== undefined && (Object.hasOwn(list, 'cpu') || Object.hasOwn(list, 'memory'));
}

/** One request or limit. */
function validateContainerResource(
  name: string,
  quantity: string,
  dialect: Dialect,
  path: FieldPath,
): readonly FieldFailure[] {
  return joined(
    validateContainerResourceName(name, dialect, path),
    validateResourceQuantity(name, quantity, dialect, path),
  );
}

function requestWithinLimit(
  name: string,
  request: string,
  limit: string | undefined,
  dialect: Dialect,
  path: FieldPath,
): readonly FieldFailure[] {
  const overcommit = isOvercommitAllowed(name, dialect);
  if (limit === undefined) {
    return overcommit ? none : [required(path.child('limits'), 'Limit must be set for non overcommitable resources')];
  }
  const order = compareQuantities(request, limit);
  if (!overcommit && order !== 0) {
    return [invalidValue(path.child('requests'), request, `must be equal to ${name} limit`)];
  }
  return order > 0
    ? [invalidValue(path.child('requests'), request, `must be less than or equal to ${name} limit`)]
    : none;
}

/** A resource that containers may request. */
export function validateContainerResourceName(
  name: string,
  dialect: Dialect,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures = validateResourceName(name, path);
  if (!name.includes('/')) {
    if (isStandardContainerResource(name)) return failures;
    return [...failures, invalidValue(path, name, 'must be a standard resource for containers')];
  }
  if (isNativeResource(name, dialect) || isExtendedResource(name, dialect)) return failures;
  return [...failures, invalidValue(path, name, "doesn't follow extended resource name standard")];
}

/** The name of any resource: qualified, and a known one if it has no domain. */
export function validateResourceName(name: string, path: FieldPath): readonly FieldFailure[] {
  const failures = checkQualifiedName(path, name);
  if (failures.length > 0 || name.includes('/') || isStandardResource(name)) return failures;
  return [invalidValue(path, name, 'must be a standard resource type or fully qualified')];
}

/** Must not be negative, and must be whole for integer resources. */
export function validateResourceQuantity(
  name: string,
  quantity: string,
  dialect: Dialect,
  path: FieldPath,
): readonly FieldFailure[] {
  const failures = checkNonNegativeQuantity(path, quantity);
  if (!isIntegerResource(name, dialect) || isWholeQuantity(quantity)) return failures;
  return [...failures, invalidValue(path, goQuantityValue(quantity), 'must be an integer')];
}

function checkNonNegativeQuantity(path: FieldPath, quantity: string): readonly FieldFailure[] {
  if (quantitySign(quantity) >= 0) return none;
  return [invalidValue(path, quantity, 'must be greater than or equal to 0')];
}
