/** Rules of services. The allocators decide whether an address or node port is free. */

import { validateNonSpecialIP } from '#api/core/v1/endpoints/non-special-ip.js';
import { validateClusterIPs, validateClusterIPsUpdate } from '#api/core/v1/service/cluster-ip-validation.js';
import { isExternal, isHeadless, needsHealthCheckPort } from '#api/core/v1/service/defaults.js';
import { validatePortClaims, validateServicePorts } from '#api/core/v1/service/port-validation.js';
import { declaration as schema } from '#api/core/v1/service.js';
import type { Service, ServiceSpec, SessionAffinityConfig } from '#api/core/v1/types.gen.js';
import { coreValues } from '#api/core/v1/values/go-values.js';
import { validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily, parseCIDR } from '#apimachinery/net/ip.js';
import {
  checkDNSSubdomain,
  checkEnum,
  checkOptionalEnum,
  checkQualifiedName,
  ipErrors,
} from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { inclusiveRangeMessage } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { wordedRangesOf } from '#apimachinery/validation/ranges.js';

const specPath = FieldPath.of('spec');
const maxPort = 65_535;
const checkAffinity = wordedRangesOf(
  schema.types.ClientIPConfig,
  ({ minimum, maximum }) => `must be greater than ${minimum - 1} and less than ${maximum}`,
  'timeoutSeconds',
);

type ServiceContext = Pick<StrategyContext, 'dialect' | 'gate'>;

export function validateService(service: Service, context: ServiceContext, old?: Service): FieldFailure[] {
  const { spec } = service;
  const portsPath = specPath.child('ports');
  return [
    ...(spec.type === 'LoadBalancer' ? noNodeAgentPort(spec, context, portsPath) : []),
    ...validateType(service),
    ...validateServicePorts(service, portsPath),
    ...validateLabels(spec.selector, specPath.child('selector')),
    ...validateAffinity(spec),
    ...validateClusterIPs(service, specPath),
    ...validateExternalIPs(spec),
    ...checkEnum(specPath.child('type'), spec.type, schema.enums.ServiceType),
    ...validatePortClaims(spec, portsPath),
    ...(context.gate('MixedProtocolLBService') || mixesProtocols(old) ? [] : validateOneProtocol(service, portsPath)),
    ...validateSourceRanges(service, context),
    ...validateLoadBalancerFields(spec),
    ...validateExternalPolicy(spec),
    ...validateInternalPolicy(spec, context),
  ];
}

function mixesProtocols(service: Service | undefined): boolean {
  if (service?.spec.type !== 'LoadBalancer') return false;
  return new Set((service.spec.ports ?? []).map(({ protocol }) => protocol)).size > 1;
}

function validateOneProtocol(service: Service, path: FieldPath): FieldFailure[] {
  if (!mixesProtocols(service)) return [];
  return [
    invalidValue(
      path,
      coreValues.member('ServiceSpec', 'ports', service.spec.ports),
      'cannot create an external load balancer with mix protocols',
    ),
  ];
}

/** Port of the node agents, which some clouds would expose along with the service's. */
const nodeAgentPort = 10250;

function noNodeAgentPort(spec: ServiceSpec, { dialect }: ServiceContext, path: FieldPath): FieldFailure[] {
  const text = `may not expose port ${nodeAgentPort} externally since it is used by ${dialect.components.nodeAgent}`;
  return (spec.ports ?? []).flatMap(({ port }, i) =>
    port === nodeAgentPort ? [invalidValue(path.index(i), port, text)] : [],
  );
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
  if ((spec.clusterIPs ?? []).length > 0) {
    failures.push(forbiddenField(specPath.child('clusterIPs'), forbidden));
  }
  if ((spec.ipFamilies ?? []).length > 0) failures.push(forbiddenField(specPath.child('ipFamilies'), forbidden));
  if (spec.ipFamilyPolicy !== undefined) failures.push(forbiddenField(specPath.child('ipFamilyPolicy'), forbidden));
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name === '') failures.push(required(specPath.child('externalName')));
  else addAll(failures, checkDNSSubdomain(specPath.child('externalName'), name));
  return failures;
}

function validateAffinity(spec: ServiceSpec): readonly FieldFailure[] {
  const at = specPath.child('sessionAffinityConfig');
  const failures = [
    ...checkEnum(specPath.child('sessionAffinity'), spec.sessionAffinity, schema.enums.ServiceAffinity),
  ];
  if (spec.sessionAffinity === 'ClientIP') addAll(failures, validateClientIP(spec.sessionAffinityConfig, at));
  else if (spec.sessionAffinity === 'None' && spec.sessionAffinityConfig !== undefined) {
    failures.push(forbiddenField(at, 'must not be set when session affinity is None'));
  }
  return failures;
}

function validateClientIP(config: SessionAffinityConfig | undefined, path: FieldPath): readonly FieldFailure[] {
  const text = 'when session affinity type is ClientIP';
  if (config === undefined) return [required(path, text)];
  if (config.clientIP === undefined) return [required(path.child('clientIP'), text)];
  const at = path.child('clientIP');
  if (config.clientIP.timeoutSeconds === undefined) return [required(at.child('timeoutSeconds'), text)];
  return checkAffinity(config.clientIP, at);
}

function validateExternalIPs(spec: ServiceSpec): FieldFailure[] {
  return (spec.externalIPs ?? []).flatMap((address, i) => {
    const at = specPath.child('externalIPs').index(i);
    if (ipFamily(address) === 0) return invalidEach(at, address, ipErrors(address));
    return validateNonSpecialIP(at, address);
  });
}

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'";

/** The clients of the load balancer: a field, or the older annotation. */
function validateSourceRanges({ spec, metadata }: Service, { dialect }: ServiceContext): FieldFailure[] {
  const key = `service.beta.${dialect.labelDomain}/load-balancer-source-ranges`;
  const fromField = spec.loadBalancerSourceRanges ?? [];
  const annotation = metadata.annotations?.[key];
  if (fromField.length === 0 && annotation === undefined) return [];
  const ofField = fromField.length > 0;
  const path = ofField ? specPath.child('LoadBalancerSourceRanges') : FieldPath.of('metadata', 'annotations').key(key);
  const shown = ofField ? `[${fromField.join(' ')}]` : (annotation ?? '');
  const ranges = ofField || shown.trim() === '' ? fromField : shown.split(',');
  const failures = spec.type === 'LoadBalancer' ? [] : [forbiddenField(path, onlyBalanced)];
  if (ranges.every((range) => parseCIDR(range.trim()) !== undefined)) return failures;
  const text = 'must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ';
  return [...failures, invalidValue(path, shown, text)];
}

function validateLoadBalancerFields(spec: ServiceSpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const balanced = spec.type === 'LoadBalancer';
  const allocates = spec.allocateLoadBalancerNodePorts !== undefined;
  const allocate = 'allocateLoadBalancerNodePorts';
  if (!balanced && allocates) failures.push(forbiddenField(specPath.child(allocate), onlyBalanced));
  // In 1.24 the path lacks `spec`.
  if (balanced && !allocates) failures.push(required(FieldPath.of(allocate)));
  const loadBalancerClass = spec.loadBalancerClass;
  if (loadBalancerClass !== undefined) {
    const at = specPath.child('loadBalancerClass');
    if (balanced) addAll(failures, checkQualifiedName(at, loadBalancerClass));
    else failures.push(forbiddenField(at, onlyBalanced));
  }
  return failures;
}

function validateExternalPolicy(spec: ServiceSpec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const external = spec.externalTrafficPolicy ?? '';
  const at = specPath.child('externalTrafficPolicy');
  if (isExternal(spec)) {
    addAll(failures, checkEnum(at, external, schema.enums.ServiceExternalTrafficPolicyType));
  } else if (external !== '') {
    failures.push(invalidValue(at, external, "may only be set when `type` is 'NodePort' or 'LoadBalancer'"));
  }
  const port = spec.healthCheckNodePort ?? 0;
  const portPath = specPath.child('healthCheckNodePort');
  if (needsHealthCheckPort(spec)) {
    // Zero is replaced when ports are allocated.
    if (port < 0 || port > maxPort) failures.push(invalidValue(portPath, port, inclusiveRangeMessage(1, maxPort)));
  } else if (port !== 0) {
    const text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    failures.push(invalidValue(portPath, port, text));
  }
  return failures;
}

const withAddress = ['ClusterIP', 'LoadBalancer', 'NodePort'];

function validateInternalPolicy(spec: ServiceSpec, { gate }: ServiceContext): readonly FieldFailure[] {
  const at = specPath.child('internalTrafficPolicy');
  if (spec.internalTrafficPolicy !== undefined) {
    return checkOptionalEnum(at, spec.internalTrafficPolicy, schema.enums.ServiceInternalTrafficPolicyType);
  }
  const needed = gate('ServiceInternalTrafficPolicy') && withAddress.includes(spec.type ?? '');
  return needed ? [required(at)] : [];
}

/** Fields that must not change once set. */
export function validateServiceUpdate(service: Service, old: Service): FieldFailure[] {
  const failures = validateClusterIPsUpdate(service, old, specPath);
  const { spec } = service;
  const loadBalancers = spec.type === 'LoadBalancer' && old.spec.type === 'LoadBalancer';
  if (loadBalancers && spec.loadBalancerClass !== old.spec.loadBalancerClass) {
    const at = specPath.child('loadBalancerClass');
    failures.push(invalidValue(at, spec.loadBalancerClass, 'may not change once set'));
  }
  return [...failures, ...validateHealthPortUpdate(spec, old.spec)];
}

/** Load balancers already use the port for health checks. */
function validateHealthPortUpdate(spec: ServiceSpec, old: ServiceSpec): FieldFailure[] {
  const [port, before] = [spec.healthCheckNodePort ?? 0, old.healthCheckNodePort ?? 0];
  if (!needsHealthCheckPort(spec) || !needsHealthCheckPort(old) || before === 0 || port === before) return [];
  return [forbiddenField(specPath.child('healthCheckNodePort'), 'field is immutable')];
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
      addAll(failures, checkDNSSubdomain(at.child('hostname'), hostname));
      if (ipFamily(hostname) !== 0) {
        failures.push(invalidValue(at.child('hostname'), hostname, 'must be a DNS name, not an IP address'));
      }
    }
    return failures;
  });
}
