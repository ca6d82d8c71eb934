/** Rules of a service's own addresses and their families. */
import type { Service } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { duplicate, invalidEach, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { ipErrors, ipFamily } from '#apimachinery/validation/ip.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

export function validateClusterIPs(service: Service, path: FieldPath): FieldFailure[] {
  const { spec } = service;
  if (spec.type === 'ExternalName') return [];
  const failures: FieldFailure[] = [];
  const list = spec.clusterIPs ?? [];
  const at = path.child('clusterIPs');
  const single = spec.clusterIP ?? '';
  if (single !== '' && list.length === 0) failures.push(required(at));
  else if (list.length > 0 && list[0] !== single) {
    failures.push(invalidValue(at, list, 'first value must match `clusterIP`'));
  }
  const families = spec.ipFamilies ?? [];
  families.forEach((family, i) => {
    const here = path.child('ipFamilies').index(i);
    if (family !== 'IPv4' && family !== 'IPv6') failures.push(notSupported(here, family, ['IPv4', 'IPv6']));
    else if (families.indexOf(family) < i) failures.push(duplicate(here, family));
  });
  const policies = ['SingleStack', 'PreferDualStack', 'RequireDualStack'];
  failures.push(...checkOptionalEnum(path.child('ipFamilyPolicy'), spec.ipFamilyPolicy, policies));
  if (list.length > 2) failures.push(invalidValue(at, list, 'may only hold up to 2 values'));
  list.forEach((address, i) => {
    if (address === 'None') {
      if (list.length > 1) failures.push(invalidValue(at.index(i), address, "'None' must be the first and only value"));
    } else if (address !== '' || i > 0) failures.push(...invalidEach(at.index(i), address, ipErrors(address)));
    const wanted = families[i];
    const actual = ipFamily(address);
    if (wanted !== undefined && actual !== 0 && wanted !== `IPv${actual}`) {
      failures.push(
        invalidValue(at.index(i), address, `expected an ${wanted} value as indicated by \`ipFamilies[${i}]\``),
      );
    }
  });
  if (list.length === 2 && ipFamily(list[0] ?? '') !== 0 && ipFamily(list[0] ?? '') === ipFamily(list[1] ?? '')) {
    failures.push(invalidValue(at, list, 'may specify no more than one IP for each IP family'));
  }
  return failures;
}
