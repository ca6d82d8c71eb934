/** What is particular to limit ranges. */

import { validateResourceName, validateResourceQuantity } from '#api/core/v1/pod/validation/resources.js';
import { limitranges } from '#api/core/v1/resources.gen.js';
import type { LimitRange, LimitRangeItem } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compareQuantities, parseQuantity } from '#apimachinery/quantity.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { duplicate, forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const limitsPath = FieldPath.of('spec', 'limits');

export const limitRangeStrategy: Strategy<LimitRange> = kindStrategy<LimitRange>(limitranges, {
  defaults: (range) => (range.spec.limits ?? []).forEach(defaultItem),
  validate: (range, context) => validateLimits(range.spec.limits ?? [], context.dialect),
  cells: (range) => [range.metadata.name ?? '', range.metadata.creationTimestamp ?? ''],
});

/** For containers: the default is the maximum, and the default request the default, else the minimum. */
function defaultItem(item: LimitRangeItem): void {
  if (item.type !== 'Container') return;
  const limits = { ...item.max, ...item.default };
  if (Object.keys(limits).length > 0) item.default = limits;
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

function validateLimits(items: LimitRangeItem[], dialect: Dialect): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const types = new Set<string>();
  items.forEach((item, i) => {
    const at = limitsPath.index(i);
    const type = item.type ?? '';
    failures.push(...checkQualifiedName(at.child('type'), type));
    if (types.has(type)) failures.push(duplicate(at.child('type'), type));
    types.add(type);
    failures.push(...validateItem(item, dialect, at));
  });
  return failures;
}

function validateItem(item: LimitRangeItem, dialect: Dialect, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const) {
    for (const [name, quantity] of Object.entries(item[field] ?? {})) {
      const at = path.child(field).key(name);
      failures.push(...validateResourceName(name, at), ...validateResourceQuantity(name, quantity, dialect, at));
    }
  }
  failures.push(...validateRatios(item, path));
  if (
    item.type === 'PersistentVolumeClaim' &&
    item.min?.['storage'] === undefined &&
    item.max?.['storage'] === undefined
  ) {
    failures.push(required(path, 'either minimum or maximum storage value is required, but neither was provided'));
  }
  if (item.type === 'Pod') {
    for (const field of ['default', 'defaultRequest'] as const) {
      if (Object.keys(item[field] ?? {}).length === 0) continue;
      failures.push(forbiddenField(path.child(field), "may not be specified when `type` is 'Pod'"));
    }
    return failures;
  }
  const ordered = [
    ['min', 'max', 'min value', 'max value'],
    ['min', 'defaultRequest', 'min value', 'default request value'],
    ['min', 'default', 'min value', 'default value'],
    ['defaultRequest', 'max', 'default request value', 'max value'],
    ['defaultRequest', 'default', 'default request value', 'default limit value'],
    ['default', 'max', 'default value', 'max value'],
  ] as const;
  for (const [low, high, lowText, highText] of ordered) {
    for (const [name, quantity] of Object.entries(item[low] ?? {})) {
      const bound = item[high]?.[name];
      if (bound === undefined || compareQuantities(quantity, bound) <= 0) continue;
      const text = `${lowText} ${quantity} is greater than ${highText} ${bound}`;
      failures.push(invalidValue(path.child(low).key(name), quantity, text));
    }
  }
  return failures;
}

/** How many times its request a limit may be: at least once, and no more than the other bounds leave. */
function validateRatios(item: LimitRangeItem, path: FieldPath): FieldFailure[] {
  return Object.entries(item.maxLimitRequestRatio ?? {}).flatMap(([name, ratio]) => {
    const at = path.child('maxLimitRequestRatio').key(name);
    if (compareQuantities(ratio, '1') < 0) return [invalidValue(at, ratio, `ratio ${ratio} is less than 1`)];
    const { [name]: min } = item.min ?? {};
    const { [name]: max } = item.max ?? {};
    if (min === undefined || max === undefined) return [];
    const nanos = (quantity: string): number => Number(parseQuantity(quantity).nanos);
    const limit = nanos(max) / nanos(min);
    if (!Number.isFinite(limit) || nanos(ratio) / 1e9 <= limit) return [];
    return [invalidValue(at, ratio, `ratio ${ratio} is greater than max/min = ${limit.toFixed(6)}`)];
  });
}
