/** Rules of services. Whether an address or a node port is free is the allocators' business. */
import { validateNonSpecialIP } from '#api/core/v1/non-special-ip.js';
import { validateClusterIPs } from '#api/core/v1/service/cluster-ip-validation.js';
import { isExternal, isHeadless, needsHealthCheckPort } from '#api/core/v1/service/defaults.js';
import { validateServicePorts } from '#api/core/v1/service/port-validation.js';
import type { Service, ServiceSpec, SessionAffinityConfig } from '#api/core/v1/types.gen.js';
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import {
  checkDNSSubdomain,
  checkEnum,
  checkOptionalEnum,
  checkQualifiedName,
} from '#apimachinery/validation/checks.js';
import { forbiddenField, invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { ipErrors, ipFamily, parseCIDR } from '#apimachinery/validation/ip.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const maxAffinitySeconds = 86400;

export function validateService(service: Service): FieldFailure[] {
  const { spec } = service;
  return [
    ...validateServicePorts(service, specPath.child('ports')),
    ...validateType(service),
    ...validateLabels(spec.selector, specPath.child('selector')),
    ...validateAffinity(spec),
    ...validateClusterIPs(service, specPath),
    ...validateExternalIPs(spec),
    ...checkEnum(specPath.child('type'), spec.type, ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']),
    ...validateLoadBalancerFields(spec),
    ...validateTrafficPolicies(spec),
  ];
}

function validateType(service: Service): FieldFailure[] {
  const { spec } = service;
  const first = specPath.child('clusterIPs').index(0);
  switch (spec.type) {
    case 'LoadBalancer':
    case 'NodePort': {
      if (!isHeadless(service)) return [];
      return [invalidValue(first, 'None', `may not be set to 'None' for ${spec.type} services`)];
    }
    case 'ExternalName':
      return validateExternalName(spec);
    default:
      return [];
  }
}

function validateExternalName(spec: ServiceSpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const forbidden = 'may not be set for ExternalName services';
  if ((spec.clusterIP ?? '') !== '' || (spec.clusterIPs ?? []).length > 0) {
    failures.push(forbiddenField(specPath.child('clusterIPs'), forbidden));
  }
  if ((spec.ipFamilies ?? []).length > 0) failures.push(forbiddenField(specPath.child('ipFamilies'), forbidden));
  if (spec.ipFamilyPolicy !== undefined) failures.push(forbiddenField(specPath.child('ipFamilyPolicy'), forbidden));
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name === '') failures.push(required(specPath.child('externalName')));
  else failures.push(...checkDNSSubdomain(specPath.child('externalName'), name));
  return failures;
}

function validateAffinity(spec: ServiceSpec): FieldFailure[] {
  const at = specPath.child('sessionAffinityConfig');
  const failures = checkEnum(specPath.child('sessionAffinity'), spec.sessionAffinity, ['ClientIP', 'None']);
  if (spec.sessionAffinity === 'ClientIP') failures.push(...validateClientIP(spec.sessionAffinityConfig, at));
  else if (spec.sessionAffinity === 'None' && spec.sessionAffinityConfig !== undefined) {
    failures.push(forbiddenField(at, 'must not be set when session affinity is None'));
  }
  return failures;
}

function validateClientIP(config: SessionAffinityConfig | undefined, path: FieldPath): FieldFailure[] {
  const text = 'when session affinity type is ClientIP';
  if (config === undefined) return [required(path, text)];
  if (config.clientIP === undefined) return [required(path.child('clientIP'), text)];
  const at = path.child('clientIP', 'timeoutSeconds');
  const seconds = config.clientIP.timeoutSeconds;
  if (seconds === undefined) return [required(at, text)];
  if (seconds > 0 && seconds <= maxAffinitySeconds) return [];
  return [invalidValue(at, seconds, `must be greater than 0 and less than ${maxAffinitySeconds}`)];
}

function validateExternalIPs(spec: ServiceSpec): FieldFailure[] {
  return (spec.externalIPs ?? []).flatMap((address, i) => {
    const at = specPath.child('externalIPs').index(i);
    if (ipFamily(address) === 0) return invalidEach(at, address, ipErrors(address));
    return validateNonSpecialIP(at, address);
  });
}

function validateLoadBalancerFields(spec: ServiceSpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const balanced = spec.type === 'LoadBalancer';
  const only = "may only be used when `type` is 'LoadBalancer'";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const rangesPath = specPath.child('loadBalancerSourceRanges');
  if (ranges.length > 0) {
    if (!balanced) failures.push(forbiddenField(rangesPath, only));
    if (ranges.some((range) => parseCIDR(range.trim()) === undefined)) {
      const text = 'must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ';
      failures.push(invalidValue(rangesPath, `[${ranges.join(' ')}]`, text));
    }
  }
  const allocate = specPath.child('allocateLoadBalancerNodePorts');
  if (balanced && spec.allocateLoadBalancerNodePorts === undefined) failures.push(required(allocate));
  if (!balanced && spec.allocateLoadBalancerNodePorts !== undefined) failures.push(forbiddenField(allocate, only));
  const loadBalancerClass = spec.loadBalancerClass;
  if (loadBalancerClass !== undefined) {
    const at = specPath.child('loadBalancerClass');
    if (!balanced) failures.push(forbiddenField(at, only));
    failures.push(...checkQualifiedName(at, loadBalancerClass));
  }
  return failures;
}

function validateTrafficPolicies(spec: ServiceSpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const external = spec.externalTrafficPolicy ?? '';
  const at = specPath.child('externalTrafficPolicy');
  if (external !== '' && external !== 'Cluster' && external !== 'Local') {
    failures.push(invalidValue(at, external, 'ExternalTrafficPolicy must be empty, Cluster or Local'));
  }
  const port = spec.healthCheckNodePort ?? 0;
  const portPath = specPath.child('healthCheckNodePort');
  if (port < 0) failures.push(invalidValue(portPath, port, 'HealthCheckNodePort must be not less than 0'));
  if (external !== '' && !isExternal(spec)) {
    const text = 'ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service';
    failures.push(invalidValue(at, external, text));
  }
  if (port > 0 && !needsHealthCheckPort(spec)) {
    const text = 'HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local';
    failures.push(invalidValue(portPath, port, text));
  }
  const internal = specPath.child('internalTrafficPolicy');
  if (spec.internalTrafficPolicy === undefined) {
    if (spec.type !== 'ExternalName') failures.push(required(internal));
  } else failures.push(...checkOptionalEnum(internal, spec.internalTrafficPolicy, ['Cluster', 'Local']));
  return failures;
}

/** What may not change once a service has it. */
export function validateServiceUpdate(service: Service, old: Service): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const fixed = 'may not change once set';
  const { spec } = service;
  if (spec.type !== 'ExternalName' && old.spec.type !== 'ExternalName') {
    for (const field of ['clusterIPs', 'ipFamilies'] as const) {
      const before = old.spec[field]?.[0];
      if (before === undefined || before === '') continue;
      if (spec[field]?.[0] === before) continue;
      const at = specPath.child(field).index(0);
      const gone = (spec[field] ?? []).length === 0;
      const what = field === 'clusterIPs' ? 'primary clusterIP' : 'primary ipFamily';
      failures.push(invalidValue(at, spec[field] ?? [], gone ? `${what} can not be unset` : fixed));
    }
  }
  const loadBalancers = spec.type === 'LoadBalancer' && old.spec.type === 'LoadBalancer';
  if (loadBalancers && spec.loadBalancerClass !== old.spec.loadBalancerClass) {
    failures.push(invalidValue(specPath.child('loadBalancerClass'), spec.loadBalancerClass, fixed));
  }
  return failures;
}

/** Addresses and host names of load balancers. */
export function validateServiceStatus(service: Service): FieldFailure[] {
  const path = FieldPath.of('status', 'loadBalancer', 'ingress');
  return (service.status?.loadBalancer?.ingress ?? []).flatMap((ingress, i) => {
    const at = path.index(i);
    const { ip = '', hostname = '' } = ingress;
    const failures: FieldFailure[] = [];
    if (ip !== '' && ipFamily(ip) === 0) failures.push(invalidValue(at.child('ip'), ip, 'must be a valid IP address'));
    if (hostname !== '') {
      failures.push(...checkDNSSubdomain(at.child('hostname'), hostname));
      if (ipFamily(hostname) !== 0) {
        failures.push(invalidValue(at.child('hostname'), hostname, 'must be a DNS name, not an IP address'));
      }
    }
    return failures;
  });
}
