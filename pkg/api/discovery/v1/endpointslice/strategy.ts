import { declaration as schema } from '#api/core/v1/container.js';
import { validateNonSpecialIP } from '#api/core/v1/endpoints/non-special-ip.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { Endpoint, EndpointPort, EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import { type KindRules, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { checkDNSLabel, checkDNSSubdomain, checkEnum, checkQualifiedName } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  invalidEach,
  invalidValue,
  none,
  notSupported,
  required,
  tooMany,
} from '#apimachinery/validation/failure.js';
import { dns1123LabelErrors, dns1123SubdomainErrors, labelValueErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const maxEndpoints = 1000;
const maxPorts = 100;
const maxAddresses = 100;
const maxZoneHints = 8;
const maxTopologyLabels = 16;
/** Further items are only counted in tables. */
const shownInTable = 3;

const path = FieldPath.of('endpoints');
const portsPath = FieldPath.of('ports');
const addressTypePath = FieldPath.of('addressType');

/** Rules that all versions share. */
export const endpointSliceRules: KindRules<EndpointSlice> = {
  // Labels identify the slice's service, so their change increments the generation.
  generationFields: ['addressType', 'endpoints', 'ports', 'metadata.labels'],
  validate: (slice) => [
    ...checkEnum(addressTypePath, slice.addressType, ['FQDN', 'IPv4', 'IPv6']),
    ...validateEndpoints(slice.endpoints ?? [], slice.addressType),
    ...validatePorts(slice.ports ?? []),
  ],
  cells: (slice, context) => [
    slice.metadata.name ?? '',
    slice.addressType ?? '',
    listWithMore((slice.ports ?? []).map((port) => String(port.port ?? (port.name || '*')))),
    listWithMore((slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? [])),
    age(slice.metadata.creationTimestamp, context.now),
  ],
};

export const endpointSliceStrategy: Strategy<EndpointSlice> = kindStrategy<EndpointSlice>(endpointslices, {
  ...endpointSliceRules,
  prepareForCreate: (slice, context) => dropTopology(slice, undefined, context.dialect),
  completeUpdate: (slice, old, context) => dropTopology(slice, old, context.dialect),
});

/**
 * Node labels of endpoints belong to an older version; they stay only if the endpoints are unchanged. A node name in
 * these labels becomes a field. In place.
 */
function dropTopology(slice: Draft<EndpointSlice>, old: EndpointSlice | undefined, { labels }: Dialect): void {
  const endpoints = slice.endpoints ?? [];
  if (endpoints.every(({ deprecatedTopology }) => deprecatedTopology === undefined)) return;
  if (old !== undefined && semanticEqual(slice.endpoints, old.endpoints)) return;
  const nodeOf = ({ deprecatedTopology = {} }: Endpoint): string | undefined => deprecatedTopology[labels.hostname];
  const oldNodes = new Set((old?.endpoints ?? []).map(nodeOf));
  for (const endpoint of endpoints) {
    const node = nodeOf(endpoint);
    if (node !== undefined && oldNodes.has(node) && dns1123SubdomainErrors(node).length === 0)
      endpoint.nodeName ??= node;
    delete endpoint.deprecatedTopology;
  }
}

function validateEndpoints(endpoints: readonly Endpoint[], addressType: string): FieldFailure[] {
  if (endpoints.length > maxEndpoints) return [tooMany(path, endpoints.length, maxEndpoints)];
  const failures: FieldFailure[] = [];
  endpoints.forEach((endpoint, i) => {
    addAll(failures, validateEndpoint(endpoint, addressType, path.index(i)));
  });
  return failures;
}

function validateEndpoint(endpoint: Endpoint, addressType: string, at: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const addresses = endpoint.addresses ?? [];
  const addressesPath = at.child('addresses');
  if (addresses.length === 0) failures.push(required(addressesPath, 'must contain at least 1 address'));
  if (addresses.length > maxAddresses) failures.push(tooMany(addressesPath, addresses.length, maxAddresses));
  addresses.forEach((address, i) => {
    addAll(failures, validateAddress(address, addressType, addressesPath.index(i)));
  });
  if (endpoint.nodeName !== undefined) addAll(failures, checkDNSSubdomain(at.child('nodeName'), endpoint.nodeName));
  addAll(failures, validateTopology(endpoint.deprecatedTopology, at.child('deprecatedTopology')));
  if (endpoint.hostname !== undefined) addAll(failures, checkDNSLabel(at.child('hostname'), endpoint.hostname));
  return [...failures, ...validateHints(endpoint, at.child('hints', 'forZones'))];
}

/** Node labels of endpoints from an older version. */
function validateTopology(
  topology: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
): readonly FieldFailure[] {
  if (topology === undefined) return none;
  const count = Object.keys(topology).length;
  const failures = count > maxTopologyLabels ? [tooMany(at, count, maxTopologyLabels)] : [];
  addAll(failures, validateLabels(topology, at));
  return failures;
}

function validateAddress(address: string, addressType: string, at: FieldPath): readonly FieldFailure[] {
  switch (addressType) {
    case 'IPv4':
    case 'IPv6': {
      const failures = validateNonSpecialIP(at, address);
      if (`IPv${ipFamily(address)}` === addressType) return failures;
      return [invalidValue(at, address, `must be a valid ${addressType} address`), ...failures];
    }
    case 'FQDN':
      return validateDomainName(address, at);
    default:
      return [];
  }
}

function validateDomainName(name: string, at: FieldPath): FieldFailure[] {
  if (name === '') return [required(at)];
  const labels = name.replace(/\.$/, '').split('.');
  if (labels.length < 2) {
    return [invalidValue(at, name, 'should be a domain with at least two segments separated by dots')];
  }
  return labels.flatMap((label) => invalidEach(at, label, dns1123LabelErrors(label)));
}

function validateHints(endpoint: Endpoint, at: FieldPath): FieldFailure[] {
  const zones = endpoint.hints?.forZones ?? [];
  if (zones.length > maxZoneHints) return [tooMany(at, zones.length, maxZoneHints)];
  return zones.flatMap((zone, i) => {
    const here = at.index(i).child('name');
    const { name = '' } = zone;
    const first = zones.findIndex((other) => (other.name ?? '') === name);
    return [...(first < i ? [duplicate(here, name)] : []), ...invalidEach(here, name, labelValueErrors(name))];
  });
}

function validatePorts(ports: readonly EndpointPort[]): FieldFailure[] {
  if (ports.length > maxPorts) return [tooMany(portsPath, ports.length, maxPorts)];
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  ports.forEach((port, i) => {
    const at = portsPath.index(i);
    const name = port.name ?? '';
    if (name !== '') addAll(failures, checkDNSLabel(at.child('name'), name));
    if (names.has(name)) failures.push(duplicate(at.child('name'), name));
    names.add(name);
    const { protocol } = port;
    if (protocol === undefined) failures.push(required(at.child('protocol')));
    else if (!schema.enums.Protocol.includes(protocol)) {
      failures.push(notSupported(at.child('protocol'), protocol, schema.enums.Protocol));
    }
    if (port.appProtocol !== undefined) addAll(failures, checkQualifiedName(at.child('appProtocol'), port.appProtocol));
  });
  return failures;
}

function listWithMore(all: readonly string[]): string {
  if (all.length === 0) return '<unset>';
  const list = all.slice(0, shownInTable).join(',');
  return all.length > shownInTable ? `${list} + ${all.length - shownInTable} more...` : list;
}
