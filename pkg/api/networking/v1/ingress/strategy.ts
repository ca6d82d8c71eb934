import { validateServiceStatus } from '#api/core/v1/service/validation.js';
import type { TableRowCells } from '#api/meta/object.js';
import { declaration as schema } from '#api/networking/v1/ingress.js';
import { validateTypedReference } from '#api/networking/v1/reference/validation.js';
import { ingresses } from '#api/networking/v1/resources.gen.js';
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
  IngressServiceBackend,
  ServiceBackendPort,
} from '#api/networking/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import { orNone } from '#api/table/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import {
  addAll,
  goNil,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  Strings,
} from '#apimachinery/validation/failure.js';
import {
  dns1035LabelErrors,
  dns1123SubdomainErrors,
  portNameErrors,
  wildcardSubdomainErrors,
} from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { rangesOf } from '#apimachinery/validation/ranges.js';
import { oneMember } from '#apimachinery/validation/unions.js';

const specPath = FieldPath.of('spec');
const oneBackend = oneMember<IngressBackend>(schema.types.IngressBackend, {
  missing: (path) => invalidValue(path, '', 'resource or service backend is required'),
  several: (path) => invalidValue(path, '', 'cannot set both resource and service backends'),
});
const onePort = oneMember<ServiceBackendPort>(schema.types.ServiceBackendPort, {
  missing: (path) => required(path, 'port name or number is required'),
  several: (path) => invalidValue(path, '', 'cannot set both port name & port number'),
});
const checkPortNumber = rangesOf(schema.types.ServiceBackendPort, 'number');
/** Further hosts are only counted in tables. */
const shownInTable = 3;

export const ingressStrategy: Strategy<Ingress> = kindStrategy<Ingress>(ingresses, {
  generationFields: ['spec'],
  validate: (ingress, context, old) => [
    ...validateIngress(ingress, old),
    ...(old === undefined ? validateClassAnnotation(ingress, context.dialect) : []),
  ],
  // Addresses of an ingress have the same rules as those of a load balancer.
  validateStatusUpdate: ({ metadata, status = {} }) => validateServiceStatus({ metadata, spec: {}, status }),
  cells: (ingress, context) => ingressCells(ingress, context.now),
});

function classAnnotation(dialect: Dialect): string {
  return `${dialect.labelDomain}/ingress.class`;
}

/** A new ingress must name its class only once. Stored ingresses may have both. */
function validateClassAnnotation({ metadata, spec }: Ingress, dialect: Dialect): FieldFailure[] {
  const key = classAnnotation(dialect);
  const value = metadata.annotations?.[key];
  if (value === undefined || spec.ingressClassName === undefined) return [];
  return [invalidValue(FieldPath.of('annotations', key), value, 'can not be set when the class field is also set')];
}

/** `old` is the stored object: its own violations are tolerated where 1.24 does so. */
function validateIngress(ingress: Ingress, old: Ingress | undefined): readonly FieldFailure[] {
  const { spec } = ingress;
  const rules = spec.rules ?? [];
  const wildcardsFree = old?.spec.rules?.some(hasBrokenWildcard) === true;
  const failures: FieldFailure[] = [];
  if (rules.length === 0 && spec.defaultBackend === undefined) {
    failures.push(
      invalidValue(
        specPath,
        spec.rules === undefined ? goNil('[]networking.IngressRule') : new Strings([], 'networking.IngressRule'),
        'either `defaultBackend` or `rules` must be specified',
      ),
    );
  }
  if (spec.defaultBackend !== undefined) {
    addAll(failures, validateBackend(spec.defaultBackend, specPath.child('defaultBackend')));
  }
  rules.forEach((rule, i) => {
    addAll(failures, validateRule(rule, specPath.child('rules').index(i), wildcardsFree));
  });
  const secretsFree = old?.spec.tls?.some(({ secretName }) => !isSecretName(secretName)) === true;
  spec.tls?.forEach((tls, i) => {
    const at = specPath.child('tls').index(i);
    tls.hosts?.forEach((host, j) => {
      addAll(failures, validateHost(host, at.child('hosts').index(j)));
    });
    if (secretsFree || isSecretName(tls.secretName)) return;
    addAll(failures, checkDNSSubdomain(at.child('secretName'), tls.secretName ?? ''));
  });
  if (spec.ingressClassName !== undefined) {
    addAll(failures, checkDNSSubdomain(specPath.child('ingressClassName'), spec.ingressClassName));
  }
  return failures;
}

/** The secret of a certificate is optional. */
function isSecretName(name: string | undefined): boolean {
  return name === undefined || name === '' || dns1123SubdomainErrors(name).length === 0;
}

/** Older releases did not validate paths of wildcard hosts. */
function hasBrokenWildcard(rule: IngressRule): boolean {
  return (rule.host ?? '').includes('*') && validatePaths(rule, FieldPath.of('rule')).length > 0;
}

function validateHost(host: string, path: FieldPath): readonly FieldFailure[] {
  if (host.includes('*')) return invalidEach(path, host, wildcardSubdomainErrors(host));
  return checkDNSSubdomain(path, host);
}

function validateRule(rule: IngressRule, path: FieldPath, wildcardsFree: boolean): FieldFailure[] {
  const host = rule.host ?? '';
  const at = path.child('host');
  const failures: FieldFailure[] = [];
  if (host !== '') {
    if (ipFamily(host) !== 0) failures.push(invalidValue(at, host, 'must be a DNS name, not an IP address'));
    addAll(failures, validateHost(host, at));
  }
  return wildcardsFree && host.includes('*') ? failures : [...failures, ...validatePaths(rule, path)];
}

function validatePaths({ http }: IngressRule, path: FieldPath): FieldFailure[] {
  if (http === undefined) return [];
  const at = path.child('http', 'paths');
  const paths = http.paths ?? [];
  if (paths.length === 0) return [required(at)];
  return paths.flatMap((entry, i) => validatePath(entry, at.index(i)));
}

/** Parts of a path that are normalized or decoded. */
const oddParts = ['//', '/./', '/../', '%2f', '%2F'];
const oddEnds = ['/..', '/.'];

function validatePath(entry: HTTPIngressPath, path: FieldPath): FieldFailure[] {
  const at = path.child('path');
  const text = entry.path ?? '';
  const failures: FieldFailure[] = [];
  switch (entry.pathType) {
    case undefined:
      return [required(path.child('pathType'), 'pathType must be specified')];
    case 'Exact':
    case 'Prefix':
      if (!text.startsWith('/')) failures.push(invalidValue(at, text, 'must be an absolute path'));
      if (text.length === 0) break;
      for (const part of oddParts) {
        if (text.includes(part)) failures.push(invalidValue(at, text, `must not contain '${part}'`));
      }
      for (const end of oddEnds) {
        if (text.endsWith(end)) failures.push(invalidValue(at, text, `cannot end with '${end}'`));
      }
      break;
    case 'ImplementationSpecific':
      if (text !== '' && !text.startsWith('/')) failures.push(invalidValue(at, text, 'must be an absolute path'));
      break;
    default:
      failures.push(notSupported(path.child('pathType'), entry.pathType, schema.enums.PathType));
  }
  return [...failures, ...validateBackend(entry.backend ?? {}, path.child('backend'))];
}

function validateBackend(backend: IngressBackend, path: FieldPath): readonly FieldFailure[] {
  const { service, resource } = backend;
  const failure = oneBackend(backend, path);
  if (failure.length > 0) return failure;
  if (service !== undefined) return validateService(service, path);
  return resource === undefined ? [] : validateTypedReference(resource, path.child('resource'));
}

/** `path` is that of the backend, where 1.24 reports most failures of the service. */
function validateService(service: IngressServiceBackend, path: FieldPath): readonly FieldFailure[] {
  const at = path.child('service');
  const name = service.name ?? '';
  const failures =
    name === '' ? [required(at.child('name'))] : [...invalidEach(at.child('name'), name, dns1035LabelErrors(name))];
  const { port = {} } = service;
  const failure = onePort(port, path);
  if (failure.length > 0) addAll(failures, failure);
  else if (port.name) addAll(failures, invalidEach(at.child('port', 'name'), port.name, portNameErrors(port.name)));
  else addAll(failures, checkPortNumber(port, at.child('port')));
  return failures;
}

function ingressCells(ingress: Ingress, now: number): TableRowCells {
  const { metadata, spec, status } = ingress;
  const addresses = new Set((status?.loadBalancer?.ingress ?? []).map((entry) => entry.ip || entry.hostname || ''));
  return [
    metadata.name ?? '',
    orNone(spec.ingressClassName),
    hostsText(spec.rules ?? []),
    [...addresses]
      .filter((address) => address !== '')
      .sort()
      .join(','),
    (spec.tls ?? []).length > 0 ? '80, 443' : '80',
    age(metadata.creationTimestamp, now),
  ];
}

function hostsText(rules: readonly IngressRule[]): string {
  const hosts: string[] = [];
  for (const { host = '' } of rules) {
    // A rule after the last shown host counts, even without a host.
    if (hosts.length === shownInTable) return `${hosts.join(',')} + ${rules.length - shownInTable} more...`;
    if (host !== '') hosts.push(host);
  }
  return hosts.length === 0 ? '*' : hosts.join(',');
}
