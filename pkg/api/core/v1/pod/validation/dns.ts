/** Rules of a pod's name resolution. */
import { type PodOptions, searchLimits } from '#api/core/v1/pod/validation/options.js';
import { declaration as schema } from '#api/core/v1/pod.js';
import type { HostAlias, PodDNSConfig, PodSpec } from '#api/core/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import { addAll, invalidValue, none, required } from '#apimachinery/validation/failure.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Limit of the resolver library. */
const maxNameservers = 3;
/** What newer resolvers take. */
const expandedSearchLimits = { paths: 32, characters: 2048 } as const;

export const dnsPolicies = schema.enums.DNSPolicy;

/** Servers and search domains of the pod's own; without a policy they are all that it has. */
export function validateDNSConfig(spec: PodSpec, options: PodOptions, path: FieldPath): readonly FieldFailure[] {
  const config = spec.dnsConfig;
  if (spec.dnsPolicy === 'None') {
    if (config === undefined) return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if ((config.nameservers ?? []).length === 0) {
      const text = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return [required(path.child('nameservers'), text)];
    }
  }
  return config === undefined ? none : validateConfig(config, options, path);
}

function validateConfig(config: PodDNSConfig, options: PodOptions, path: FieldPath): readonly FieldFailure[] {
  const { nameservers = [], searches = [] } = config;
  const { paths, characters } = options.expandedDNS ? expandedSearchLimits : searchLimits;
  const failures: FieldFailure[] = [];
  if (nameservers.length > maxNameservers) {
    const text = `must not have more than ${maxNameservers} nameservers`;
    failures.push(invalidValue(path.child('nameservers'), nameservers, text));
  }
  nameservers.forEach((address, i) => {
    if (ipFamily(address) !== 0) return;
    failures.push(invalidValue(path.child('nameservers').index(i), address, 'must be valid IP address'));
  });
  if (searches.length > paths) {
    failures.push(invalidValue(path.child('searches'), searches, `must not have more than ${paths} search paths`));
  }
  if (searches.join(' ').length > characters) {
    const text = `must not have more than ${characters} characters (including spaces) in the search list`;
    failures.push(invalidValue(path.child('searches'), searches, text));
  }
  searches.forEach((search, i) => {
    addAll(failures, checkDNSSubdomain(path.child('searches').index(i), search.replace(/\.$/, '')));
  });
  config.options?.forEach((option, i) => {
    if ((option.name ?? '') === '') failures.push(required(path.child('options').index(i), 'must not be empty'));
  });
  return failures;
}

export function validateHostAliases(
  aliases: readonly HostAlias[] | undefined,
  path: FieldPath,
): readonly FieldFailure[] {
  if (aliases === undefined) return none;
  const failures: FieldFailure[] = [];
  for (const { ip = '', hostnames } of aliases) {
    if (ipFamily(ip) === 0) failures.push(invalidValue(path.child('ip'), ip, 'must be valid IP address'));
    for (const name of hostnames ?? []) addAll(failures, checkDNSSubdomain(path.child('hostnames'), name));
  }
  return failures;
}
