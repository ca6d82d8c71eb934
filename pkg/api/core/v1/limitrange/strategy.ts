import { declaration as schema } from '#api/core/v1/limitrange.js';
import { validateContainerResourceName, validateResourceName } from '#api/core/v1/pod/validation/resources.js';
import { isOvercommitAllowed } from '#api/core/v1/resources/names.js';
import { limitranges } from '#api/core/v1/resources.gen.js';
import type { LimitRange, LimitRangeItem } from '#api/core/v1/types.gen.js';
import { goQuantityValue } from '#api/go/go-values.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { compareQuantities, parseQuantity } from '#apimachinery/quantity.js';
import { checkQualifiedName } from '#apimachinery/validation/checks.js';
import { addAll, duplicate, forbiddenField, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const limitsPath = FieldPath.of('spec', 'limits');

export const limitRangeStrategy: Strategy<LimitRange> = kindStrategy<LimitRange>(limitranges, {
  allowCreateOnUpdate: true,
  prepareForCreate({ metadata }) {
    // Only this kind gets a generated name if the client sends none.
    if ((metadata.name ?? '') === '' && (metadata.generateName ?? '') === '') metadata.name = metadata.uid ?? '';
  },
  defaults: (range) => (range.spec.limits ?? []).forEach(defaultItem),
  validate: (range, context) => validateLimits(range.spec.limits ?? [], context.dialect),
  cells: (range) => [range.metadata.name ?? '', range.metadata.creationTimestamp ?? ''],
});

/** For containers: the default is the maximum; the default request is the default, or else the minimum. */
function defaultItem(item: Draft<LimitRangeItem>): void {
  if (item.type !== 'Container') return;
  const limits = { ...item.max, ...item.default };
  if (isLonger(limits, item.default)) item.default = limits;
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (isLonger(requests, item.defaultRequest)) item.defaultRequest = requests;
}

/** A list without additions may be shared and stays unchanged. */
function isLonger(list: object, shorter: object | undefined): boolean {
  return Object.keys(list).length > Object.keys(shorter ?? {}).length;
}

function validateLimits(items: readonly LimitRangeItem[], dialect: Dialect): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const types = new Set<string>();
  items.forEach((item, i) => {
    const at = limitsPath.index(i);
    const type = item.type ?? '';
    addAll(failures, validateType(type, at.child('type')));
    if (types.has(type)) failures.push(duplicate(at.child('type'), type));
    types.add(type);
    addAll(failures, validateItem(item, dialect, at));
  });
  return failures;
}

function validateType(type: string, path: FieldPath): readonly FieldFailure[] {
  const failures = checkQualifiedName(path, type);
  if (failures.length > 0 || type.includes('/') || schema.enums.LimitType.includes(type)) return failures;
  return [invalidValue(path, type, 'must be a standard limit type or fully qualified')];
}

const bounds = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

function validateItem(item: LimitRangeItem, dialect: Dialect, path: FieldPath): readonly FieldFailure[] {
  const ofPods = item.type === 'Pod';
  const failures: FieldFailure[] = [];
  const checkName = (name: string, at: FieldPath): readonly FieldFailure[] =>
    ofPods || item.type === 'Container'
      ? validateContainerResourceName(name, dialect, at)
      : validateResourceName(name, at);
  for (const field of bounds) {
    const names = Object.keys(item[field] ?? {});
    if (ofPods && (field === 'default' || field === 'defaultRequest')) {
      const text = "may not be specified when `type` is 'Pod'";
      if (names.length > 0) failures.push(forbiddenField(path.child(field), text));
    } else for (const name of names) addAll(failures, checkName(name, path.child(field).key(name)));
  }
  const sized = item.min?.['storage'] ?? item.max?.['storage'];
  if (item.type === 'PersistentVolumeClaim' && sized === undefined) {
    const text = 'either minimum or maximum storage value is required, but neither was provided';
    failures.push(required(path.child('limits'), text));
  }
  return [
    ...failures,
    ...validateOrder(item, ofPods, path),
    ...validateRatios(item, path),
    ...(ofPods ? [] : validateEqualDefaults(item, dialect, path)),
  ];
}

/** The order of bounds, the field to report, and the value to show. */
const ordered = [
  { low: 'min', high: 'max', blamed: 'min', shown: 'low', text: ['min value', 'max value'] },
  {
    low: 'min',
    high: 'defaultRequest',
    blamed: 'defaultRequest',
    shown: 'high',
    text: ['min value', 'default request value'],
  },
  {
    low: 'defaultRequest',
    high: 'max',
    blamed: 'defaultRequest',
    shown: 'low',
    text: ['default request value', 'max value'],
  },
  {
    low: 'defaultRequest',
    high: 'default',
    blamed: 'defaultRequest',
    shown: 'low',
    text: ['default request value', 'default limit value'],
  },
  { low: 'min', high: 'default', blamed: 'default', shown: 'low', text: ['min value', 'default value'] },
  { low: 'default', high: 'max', blamed: 'default', shown: 'high', text: ['default value', 'max value'] },
] as const;

function validateOrder(item: LimitRangeItem, ofPods: boolean, path: FieldPath): FieldFailure[] {
  return ordered.flatMap(({ low, high, blamed, shown, text }) => {
    if (ofPods && (low !== 'min' || high !== 'max')) return [];
    return Object.entries(item[low] ?? {}).flatMap(([name, below]) => {
      const above = item[high]?.[name];
      if (above === undefined || compareQuantities(below, above) <= 0) return [];
      const detail = `${text[0]} ${below} is greater than ${text[1]} ${above}`;
      return [invalidValue(path.child(blamed).key(name), goQuantityValue(shown === 'low' ? below : above), detail)];
    });
  });
}

/** A resource that cannot be overcommitted must have equal requests and limits. */
function validateEqualDefaults(item: LimitRangeItem, dialect: Dialect, path: FieldPath): FieldFailure[] {
  return Object.entries(item.defaultRequest ?? {}).flatMap(([name, request]) => {
    const limit = item.default?.[name];
    if (limit === undefined || isOvercommitAllowed(name, dialect) || compareQuantities(limit, request) === 0) return [];
    const text = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
    return [invalidValue(path.child('defaultRequest').key(name), goQuantityValue(request), text)];
  });
}

/** The maximum ratio of limit to request must be at least one and consistent with the other bounds. */
function validateRatios(item: LimitRangeItem, path: FieldPath): FieldFailure[] {
  return Object.entries(item.maxLimitRequestRatio ?? {}).flatMap(([name, ratio]) => {
    const at = path.child('maxLimitRequestRatio').key(name);
    if (compareQuantities(ratio, '1') < 0)
      return [invalidValue(at, goQuantityValue(ratio), `ratio ${ratio} is less than 1`)];
    const { [name]: min } = item.min ?? {};
    const { [name]: max } = item.max ?? {};
    if (min === undefined || max === undefined) return [];
    const nanos = (quantity: string): number => Number(parseQuantity(quantity).nanos);
    const limit = nanos(max) / nanos(min);
    if (!Number.isFinite(limit) || nanos(ratio) / 1e9 <= limit) return [];
    return [invalidValue(at, goQuantityValue(ratio), `ratio ${ratio} is greater than max/min = ${limit.toFixed(6)}`)];
  });
}
