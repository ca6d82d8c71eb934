/** What is particular to ingresses. */
import { ingresses } from '#api/networking/v1/resources.gen.js';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressRule } from '#api/networking/v1/types.gen.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { orNone } from '#api/table/text.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkRequired } from '#apimachinery/validation/checks.js';
import { invalidEach, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { portNameErrors, portNumberErrors } from '#apimachinery/validation/identifiers.js';
import { ipFamily } from '#apimachinery/validation/ip.js';
import { dns1035LabelErrors, wildcardSubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
/** More are only counted in tables. */
const shownInTable = 3;

export const ingressStrategy: Strategy<Ingress> = kindStrategy<Ingress>(ingresses, {
  generationFields: ['spec'],
  validate: (ingress) => validateIngress(ingress),
  warnings(ingress, old, context) {
    const key = `${context.dialect.labelDomain}/ingress.class`;
    const has = (object: Ingress | undefined): boolean => object?.metadata.annotations?.[key] !== undefined;
    if (!has(ingress) || has(old)) return [];
    return [`annotation "${key}" is deprecated, please use 'spec.ingressClassName' instead`];
  },
  cells: (ingress, context) => ingressCells(ingress, context.now),
});

function validateIngress(ingress: Ingress): FieldFailure[] {
  const { spec } = ingress;
  const rules = spec.rules ?? [];
  const failures: FieldFailure[] = [];
  if (rules.length === 0 && spec.defaultBackend === undefined) {
    failures.push(invalidValue(specPath, rules, 'either `defaultBackend` or `rules` must be specified'));
  }
  if (spec.defaultBackend !== undefined) {
    failures.push(...validateBackend(spec.defaultBackend, specPath.child('defaultBackend')));
  }
  rules.forEach((rule, i) => {
    failures.push(...validateRule(rule, specPath.child('rules').index(i)));
  });
  spec.tls?.forEach((tls, i) => {
    const at = specPath.child('tls').index(i);
    tls.hosts?.forEach((host, j) => {
      failures.push(...validateHost(host, at.child('hosts').index(j)));
    });
    if ((tls.secretName ?? '') !== '')
      failures.push(...checkDNSSubdomain(at.child('secretName'), tls.secretName ?? ''));
  });
  if (spec.ingressClassName !== undefined) {
    failures.push(...checkDNSSubdomain(specPath.child('ingressClassName'), spec.ingressClassName));
  }
  return failures;
}

function validateHost(host: string, path: FieldPath): FieldFailure[] {
  if (host.includes('*')) return invalidEach(path, host, wildcardSubdomainErrors(host));
  return checkDNSSubdomain(path, host);
}

function validateRule(rule: IngressRule, path: FieldPath): FieldFailure[] {
  const host = rule.host ?? '';
  const at = path.child('host');
  const failures: FieldFailure[] = [];
  if (host !== '') {
    if (ipFamily(host) !== 0) failures.push(invalidValue(at, host, 'must be a DNS name, not an IP address'));
    failures.push(...validateHost(host, at));
  }
  if (rule.http === undefined) return failures;
  const paths = rule.http.paths ?? [];
  const pathsPath = path.child('http', 'paths');
  if (paths.length === 0) failures.push(required(pathsPath));
  return [...failures, ...paths.flatMap((entry, i) => validatePath(entry, pathsPath.index(i)))];
}

/** Parts of a path that mean something else than they say. */
const oddParts = ['//', '/./', '/../', '%2f', '%2F'];
const oddEnds = ['/..', '/.'];

function validatePath(entry: HTTPIngressPath, path: FieldPath): FieldFailure[] {
  const at = path.child('path');
  const text = entry.path ?? '';
  const failures: FieldFailure[] = [];
  switch (entry.pathType) {
    case undefined:
    case '':
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
    default: {
      const types = ['Exact', 'ImplementationSpecific', 'Prefix'];
      failures.push(notSupported(path.child('pathType'), entry.pathType, types));
    }
  }
  return [...failures, ...validateBackend(entry.backend ?? {}, path.child('backend'))];
}

function validateBackend(backend: IngressBackend, path: FieldPath): FieldFailure[] {
  const { service, resource } = backend;
  if (service !== undefined && resource !== undefined) {
    return [invalidValue(path, '', 'cannot set both resource and service backends')];
  }
  if (resource !== undefined) {
    const at = path.child('resource');
    return [...checkRequired(at.child('kind'), resource.kind), ...checkRequired(at.child('name'), resource.name)];
  }
  const at = path.child('service');
  const name = service?.name ?? '';
  const failures =
    name === '' ? [required(at.child('name'))] : invalidEach(at.child('name'), name, dns1035LabelErrors(name));
  const portName = service?.port?.name ?? '';
  const number = service?.port?.number ?? 0;
  if (portName !== '' && number !== 0) {
    failures.push(invalidValue(path, '', 'cannot set both port name & port number'));
  } else if (portName !== '')
    failures.push(...invalidEach(at.child('port', 'name'), portName, portNameErrors(portName)));
  else if (number !== 0) failures.push(...invalidEach(at.child('port', 'number'), number, portNumberErrors(number)));
  else failures.push(required(path, 'port name or number is required'));
  return failures;
}

function ingressCells(ingress: Ingress, now: number): TableRowCells {
  const { metadata, spec, status } = ingress;
  const addresses = (status?.loadBalancer?.ingress ?? []).map((entry) => entry.ip || entry.hostname || '');
  return [
    metadata.name ?? '',
    orNone(spec.ingressClassName),
    hostsText(spec.rules ?? []),
    addresses.filter((address) => address !== '').join(','),
    (spec.tls ?? []).length > 0 ? '80, 443' : '80',
    age(metadata.creationTimestamp, now),
  ];
}

function hostsText(rules: IngressRule[]): string {
  const hosts = rules.map((rule) => rule.host ?? '').filter((host) => host !== '');
  if (hosts.length === 0) return '*';
  const list = hosts.slice(0, shownInTable).join(',');
  return hosts.length > shownInTable ? `${list} + ${hosts.length - shownInTable} more...` : list;
}
