/** Checks of single fields, shared by many kinds. An absent field counts as empty. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { addAll, invalidEach, invalidValue, none, notSupported, required } from '#apimachinery/validation/failure.js';
import {
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  noErrors,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
} from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Errors for a value that must be an IPv4 or IPv6 address. */
export function ipErrors(value: string): readonly string[] {
  return ipFamily(value) === 0 ? ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'] : noErrors;
}

/** Must be set to one of the values. */
export function checkEnum(
  path: FieldPath,
  value: string | undefined,
  supported: readonly string[],
): readonly FieldFailure[] {
  if (value === undefined || value === '') return [required(path)];
  return supported.includes(value) ? none : [notSupported(path, value, supported)];
}

/** If set, must be one of the values. */
export function checkOptionalEnum(
  path: FieldPath,
  value: string | undefined,
  supported: readonly string[],
): readonly FieldFailure[] {
  return value === undefined || supported.includes(value) ? none : [notSupported(path, value, supported)];
}

/** Must not be empty. */
export function checkRequired(path: FieldPath, value: string | undefined, detail = ''): readonly FieldFailure[] {
  return value === undefined || value === '' ? [required(path, detail)] : none;
}

/** If set, must be zero or more. */
export function checkNonNegative(path: FieldPath, value: number | undefined): readonly FieldFailure[] {
  return (value ?? 0) >= 0 ? none : [invalidValue(path, value, 'must be greater than or equal to 0')];
}

export function checkDNSLabel(path: FieldPath, value: string): readonly FieldFailure[] {
  return invalidEach(path, value, dns1123LabelErrors(value));
}

export function checkDNSSubdomain(path: FieldPath, value: string): readonly FieldFailure[] {
  return invalidEach(path, value, dns1123SubdomainErrors(value));
}

/** A label key, also used for taints, conditions and topologies. */
export function checkQualifiedName(path: FieldPath, value: string): readonly FieldFailure[] {
  return invalidEach(path, value, qualifiedNameErrors(value));
}

/** `example.com/ingress`: a domain and a path below it. */
export function checkDomainPrefixedPath(path: FieldPath, value: string): readonly FieldFailure[] {
  if (value === '') return [required(path)];
  const slash = value.indexOf('/');
  if (slash < 1 || slash === value.length - 1) {
    return [invalidValue(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const failures: FieldFailure[] = [];
  addAll(failures, invalidEach(path, value.slice(0, slash), dns1123SubdomainErrors(value.slice(0, slash))));
  const rest = value.slice(slash + 1);
  const pattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
  if (!new RegExp(`^${pattern}$`).test(rest)) {
    failures.push(invalidValue(path, rest, `Invalid path (regex used for validation is '${pattern}')`));
  }
  return failures;
}

/** A port by number or name. */
export function checkPortNumberOrName(path: FieldPath, value: number | string | undefined): readonly FieldFailure[] {
  if (typeof value === 'string') return invalidEach(path, value, portNameErrors(value));
  return invalidEach(path, value ?? 0, portNumberErrors(value ?? 0));
}

/** Indexes of elements that also occur earlier in the list. */
export function repeatedAt(values: readonly unknown[]): ReadonlySet<number> {
  const seen = new Set<unknown>();
  const repeated = new Set<number>();
  values.forEach((value, i) => {
    if (seen.has(value)) repeated.add(i);
    seen.add(value);
  });
  return repeated;
}
