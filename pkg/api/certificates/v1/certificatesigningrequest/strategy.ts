/** What is particular to certificate signing requests. */
import { declaration } from '#api/certificates/v1/certificatesigningrequest.js';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import { validateImmutable } from '#api/meta/v1/objectmeta/validation.js';
import { copyField, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkRequired } from '#apimachinery/validation/checks.js';
import { duplicate, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const conditionsPath = FieldPath.of('status', 'conditions');
const keyUsages: readonly string[] = declaration.enums?.['KeyUsage'] ?? [];
const minExpirationSeconds = 600;

export const certificateSigningRequestStrategy: Strategy<CertificateSigningRequest> =
  kindStrategy<CertificateSigningRequest>(certificatesigningrequests, {
    name: pathSegmentErrors,
    // What is asked for never changes; an update is for metadata only.
    prepareForUpdate: (request, old) => copyField(request, old, 'spec'),
    validate: (request) => validateRequest(request),
    validateStatusUpdate: (request, old) => [...validateConditions(request), ...validateCertificate(request, old)],
    selectableFields: (request) => ({ 'spec.signerName': request.spec.signerName ?? '' }),
    cells: (request, context) => [
      request.metadata.name ?? '',
      age(request.metadata.creationTimestamp, context.now),
      request.spec.signerName || '<none>',
      request.spec.username ?? '',
      stateText(request),
    ],
  });

function validateRequest(request: CertificateSigningRequest): FieldFailure[] {
  const { spec } = request;
  const failures: FieldFailure[] = [];
  const text = Buffer.from(spec.request ?? '', 'base64').toString('latin1');
  const requestPath = specPath.child('request');
  if ((spec.request ?? '') === '') failures.push(required(requestPath));
  else if (!text.includes('-----BEGIN CERTIFICATE REQUEST-----')) {
    failures.push(invalidValue(requestPath, spec.request, 'PEM block type must be CERTIFICATE REQUEST'));
  }
  if ((spec.usages ?? []).length === 0) failures.push(required(specPath.child('usages')));
  failures.push(...validateUsages(spec.usages ?? []));
  failures.push(...validateSignerName(spec.signerName ?? ''));
  const seconds = spec.expirationSeconds;
  if (seconds !== undefined && seconds < minExpirationSeconds) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    failures.push(invalidValue(specPath.child('expirationSeconds'), seconds, detail));
  }
  return failures;
}

function validateUsages(usages: readonly string[]): FieldFailure[] {
  return usages.flatMap((usage, i) => {
    const at = specPath.child('usages').index(i);
    if (!keyUsages.includes(usage)) return [notSupported(at, usage, keyUsages)];
    return usages.indexOf(usage) < i ? [duplicate(at, usage)] : [];
  });
}

function validateSignerName(name: string): FieldFailure[] {
  const path = specPath.child('signerName');
  if (name === '') return [required(path)];
  const [domain = '', ...rest] = name.split('/');
  if (rest.length !== 1) {
    return [
      invalidValue(path, name, 'must be a fully qualified domain and path of the form "example.com/signer-name"'),
    ];
  }
  const failures = checkDNSSubdomain(path, domain);
  if (domain.split('.').length < 2) {
    failures.push(invalidValue(path, name, 'should be a domain with at least two segments separated by dots'));
  }
  if (rest[0] === '') failures.push(invalidValue(path, name, 'validating label "": must be non-empty'));
  return failures;
}

function validateConditions(request: CertificateSigningRequest): FieldFailure[] {
  const conditions = request.status?.conditions ?? [];
  const failures: FieldFailure[] = [];
  const types = new Set<string>();
  conditions.forEach((condition, i) => {
    const at = conditionsPath.index(i);
    failures.push(...checkRequired(at.child('type'), condition.type));
    if (types.has(condition.type)) failures.push(duplicate(at.child('type'), condition.type));
    types.add(condition.type);
    if (['Approved', 'Denied', 'Failed'].includes(condition.type) && condition.status !== 'True') {
      failures.push(invalidValue(at.child('status'), condition.status, 'must be "True"'));
    }
  });
  if (types.has('Approved') && types.has('Denied')) {
    failures.push(invalidValue(conditionsPath, 'Denied', 'Approved and Denied conditions are mutually exclusive'));
  }
  return failures;
}

function validateCertificate(request: CertificateSigningRequest, old: CertificateSigningRequest): FieldFailure[] {
  if ((old.status?.certificate ?? '') === '') return [];
  return validateImmutable(request.status?.certificate, old.status?.certificate, FieldPath.of('status', 'certificate'));
}

/** An update of `approval` changes nothing but the conditions; in place, still to be validated. */
export function prepareApproval(request: CertificateSigningRequest, old: CertificateSigningRequest): void {
  copyField(request, old, 'spec');
  const status = { ...old.status };
  copyField(status, request.status ?? {}, 'conditions');
  request.status = status;
}

/** Rules of an update of `approval`. */
export function validateApproval(request: CertificateSigningRequest, _context: StrategyContext): FieldFailure[] {
  return validateConditions(request);
}

function stateText(request: CertificateSigningRequest): string {
  const conditions = request.status?.conditions;
  const states = (['Approved', 'Denied', 'Failed'] as const).filter(
    (type) => getCondition(conditions, type) !== undefined,
  );
  const issued = (request.status?.certificate ?? '') !== '' ? ['Issued'] : [];
  const base = states.length === 0 ? ['Pending'] : states.filter((state) => state !== 'Failed');
  const failed = states.includes('Failed') ? ['Failed'] : [];
  return [...base, ...failed, ...issued].join(',');
}
