/** Rules of a pod's name resolution. */
import type { HostAlias, PodDNSConfig, PodSpec } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkEnum } from '#apimachinery/validation/checks.js';
import { invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { ipErrors, ipFamily } from '#apimachinery/validation/ip.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Limits of the resolver library. */
const maxNameservers = 3;
const maxSearches = 6;
const maxSearchListLength = 256;

const policies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];

export function validateDNS(spec: PodSpec, path: FieldPath): FieldFailure[] {
  const failures = checkEnum(path.child('dnsPolicy'), spec.dnsPolicy, policies);
  const config = spec.dnsConfig;
  const at = path.child('dnsConfig');
  if (spec.dnsPolicy === 'None') {
    if (config === undefined) return [...failures, required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if ((config.nameservers ?? []).length === 0) {
      const text = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return [...failures, required(at.child('nameservers'), text)];
    }
  }
  return config === undefined ? failures : [...failures, ...validateConfig(config, at)];
}

function validateConfig(config: PodDNSConfig, path: FieldPath): FieldFailure[] {
  const { nameservers = [], searches = [], options = [] } = config;
  const failures: FieldFailure[] = [];
  if (nameservers.length > maxNameservers) {
    const text = `must not have more than ${maxNameservers} nameservers`;
    failures.push(invalidValue(path.child('nameservers'), nameservers, text));
  }
  nameservers.forEach((address, i) => {
    failures.push(...invalidEach(path.child('nameservers').index(i), address, ipErrors(address)));
  });
  if (searches.length > maxSearches) {
    failures.push(
      invalidValue(path.child('searches'), searches, `must not have more than ${maxSearches} search paths`),
    );
  }
  if (searches.join(' ').length > maxSearchListLength) {
    const text = `must not have more than ${maxSearchListLength} characters (including spaces) in the search list`;
    failures.push(invalidValue(path.child('searches'), searches, text));
  }
  searches.forEach((search, i) => {
    failures.push(...checkDNSSubdomain(path.child('searches').index(i), search.replace(/\.$/, '')));
  });
  options.forEach((option, i) => {
    if ((option.name ?? '') === '') failures.push(required(path.child('options').index(i), 'must not be empty'));
  });
  return failures;
}

export function validateHostAliases(aliases: HostAlias[] | undefined, path: FieldPath): FieldFailure[] {
  return (aliases ?? []).flatMap((alias) => [
    ...(ipFamily(alias.ip ?? '') === 0
      ? [invalidValue(path.child('ip'), alias.ip ?? '', 'must be valid IP address')]
      : []),
    ...(alias.hostnames ?? []).flatMap((name) => checkDNSSubdomain(path.child('hostnames'), name)),
  ]);
}
