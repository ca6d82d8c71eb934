/** Rules of a service's cluster IPs and IP families. */
import { isHeadless } from '#api/core/v1/service/defaults.js';
import { declaration as schema } from '#api/core/v1/service.js';
import type { Service } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { checkOptionalEnum, ipErrors, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  Strings,
} from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export function validateClusterIPs(service: Service, path: FieldPath): FieldFailure[] {
  const { spec } = service;
  if (spec.type === 'ExternalName') return [];
  const failures: FieldFailure[] = [];
  const list = spec.clusterIPs ?? [];
  const at = path.child('clusterIPs');
  const single = spec.clusterIP ?? '';
  if (single === '') {
    if (list.length > 0)
      failures.push(invalidValue(at, new Strings(list), 'must be empty when `clusterIP` is not specified'));
  } else if (list.length === 0) failures.push(required(at));
  else if (list[0] !== single) failures.push(invalidValue(at, new Strings(list), 'first value must match `clusterIP`'));
  const families = spec.ipFamilies ?? [];
  const repeated = repeatedAt(families);
  families.forEach((family, i) => {
    const here = path.child('ipFamilies').index(i);
    addAll(failures, schema.enums.IPFamily.includes(family) ? [] : [notSupported(here, family, schema.enums.IPFamily)]);
    if (repeated.has(i)) failures.push(duplicate(here, family));
  });
  addAll(
    failures,
    checkOptionalEnum(path.child('ipFamilyPolicy'), spec.ipFamilyPolicy, schema.enums.IPFamilyPolicyType),
  );
  const headless = list[0] === 'None';
  if (headless && list.length > 1) {
    failures.push(invalidValue(at, new Strings(list), "'None' must be the first and only value"));
  }
  let wellFormed = !headless || list.length === 1;
  list.forEach((address, i) => {
    const messages = headless && i === 0 ? [] : ipErrors(address);
    if (messages.length > 0) wellFormed = false;
    addAll(failures, invalidEach(at.index(i), address, messages));
  });
  if (list.length > 2) failures.push(invalidValue(at, new Strings(list), 'may only hold up to 2 values'));
  // Invalid addresses have no family.
  return wellFormed ? [...failures, ...validateFamilies(list, families, at)] : failures;
}

function validateFamilies(list: readonly string[], families: readonly string[], at: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  if (list.length > 1 && new Set(list.map(ipFamily)).size < 2) {
    failures.push(invalidValue(at, new Strings(list), 'may specify no more than one IP for each IP family'));
  }
  list.forEach((address, i) => {
    const expectedFamily = families[i];
    const actual = ipFamily(address);
    if (
      expectedFamily === undefined ||
      actual === 0 ||
      !schema.enums.IPFamily.includes(expectedFamily) ||
      expectedFamily === `IPv${actual}`
    )
      return;
    const text = `expected an ${expectedFamily} value as indicated by \`ipFamilies[${i}]\``;
    failures.push(invalidValue(at.index(i), address, text));
  });
  return failures;
}

const fixed = 'may not change once set';

/** A second address may be added or removed, the first one stays; services with external names have none. */
export function validateClusterIPsUpdate(service: Service, old: Service, path: FieldPath): FieldFailure[] {
  const { spec } = service;
  if (spec.type === 'ExternalName' || old.spec.type === 'ExternalName') return [];
  const [headless, wasHeadless] = [isHeadless(service), isHeadless(old)];
  if (headless && wasHeadless) return [];
  const failures = validateListUpdate(
    { now: spec.clusterIPs ?? [], before: old.spec.clusterIPs ?? [], what: 'clusterIP', service },
    path.child('clusterIPs'),
    path.child('ipFamilyPolicy'),
  );
  if (headless !== wasHeadless) return failures;
  return [
    ...failures,
    ...validateListUpdate(
      { now: spec.ipFamilies ?? [], before: old.spec.ipFamilies ?? [], what: 'ipFamily', service },
      path.child('ipFamilies'),
      path.child('ipFamilyPolicy'),
    ),
  ];
}

interface ListUpdate {
  readonly now: readonly string[];
  readonly before: readonly string[];
  readonly what: 'clusterIP' | 'ipFamily';
  readonly service: Service;
}

function validateListUpdate(
  { now, before, what, service }: ListUpdate,
  path: FieldPath,
  policyPath: FieldPath,
): FieldFailure[] {
  const { clusterIPs = [], ipFamilyPolicy } = service.spec;
  const failures: FieldFailure[] = [];
  const shown = new Strings(now, what === 'clusterIP' ? 'string' : 'core.IPFamily');
  if (now.length === before.length) {
    before.forEach((value, i) => {
      // 1.24 reports changed families at the first one.
      if (value !== now[i]) failures.push(invalidValue(path.index(what === 'clusterIP' ? i : 0), shown, fixed));
    });
    return failures;
  }
  const released = now.length < before.length;
  if (released && clusterIPs.length === 0) {
    failures.push(invalidValue(path.index(0), shown, `primary ${what} can not be unset`));
  }
  if (before.length > 0 && now.length > 0 && now[0] !== before[0]) {
    failures.push(invalidValue(path.index(0), what === 'clusterIP' ? shown : new Strings(clusterIPs), fixed));
  }
  if (released && now.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    const text = `must be set to 'SingleStack' when releasing the secondary ${what}`;
    failures.push(invalidValue(policyPath, ipFamilyPolicy, text));
  }
  return failures;
}
