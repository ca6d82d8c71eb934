/** What is particular to certificate signing requests. */

import {
  CertificateRequestError,
  checkCertificateRequest,
} from '#api/certificates/v1/certificatesigningrequest/pkcs10.js';
import { validateStatus } from '#api/certificates/v1/certificatesigningrequest/status-validation.js';
import { declaration } from '#api/certificates/v1/certificatesigningrequest.js';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import { copyField, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import { duplicate, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const specPath = FieldPath.of('spec');
const keyUsages: readonly string[] = declaration.enums?.['KeyUsage'] ?? [];
const minExpirationSeconds = 600;

export const certificateSigningRequestStrategy: Strategy<CertificateSigningRequest> =
  kindStrategy<CertificateSigningRequest>(certificatesigningrequests, {
    name: pathSegmentErrors,
    prepareForCreate(request, context) {
      setRequester(request, context);
    },
    // What is asked for never changes; an update is for metadata only.
    prepareForUpdate: (request, old) => copyField(request, old, 'spec'),
    prepareForStatusUpdate: (request, _old, context) => setConditionTimes(request, context.now),
    validate: (request, context, old) => validateRequest(request, context.dialect, old === undefined),
    validateStatusUpdate: (request, old) => validateStatus(request, old),
    selectableFields: (request) => ({ 'spec.signerName': request.spec.signerName ?? '' }),
    cells: (request, context) => [
      request.metadata.name ?? '',
      age(request.metadata.creationTimestamp, context.now),
      request.spec.signerName || '<none>',
      request.spec.username ?? '',
      stateText(request),
    ],
  });

/** Who asks is who makes the request, whatever the request says. */
function setRequester({ spec }: CertificateSigningRequest, { user }: StrategyContext): void {
  for (const field of ['username', 'uid', 'groups', 'extra'] as const) delete spec[field];
  if (user === undefined) return;
  spec.username = user.name;
  if ((user.uid ?? '') !== '' && user.uid !== undefined) spec.uid = user.uid;
  if (user.groups.length > 0) spec.groups = [...user.groups];
  const extra = Object.entries(user.extra ?? {});
  if (extra.length > 0) spec.extra = Object.fromEntries(extra.map(([key, values]) => [key, [...values]]));
}

function setConditionTimes(request: CertificateSigningRequest, now: number): void {
  const conditions = request.status?.conditions;
  if (conditions === undefined) return;
  request.status = {
    ...request.status,
    conditions: conditions.map((condition) => ({
      ...condition,
      lastTransitionTime: condition.lastTransitionTime ?? formatTime(now),
      lastUpdateTime: condition.lastUpdateTime ?? formatTime(now),
    })),
  };
}

function validateRequest(request: CertificateSigningRequest, dialect: Dialect, isNew: boolean): FieldFailure[] {
  const { spec } = request;
  const failures: FieldFailure[] = [];
  const requestPath = specPath.child('request');
  if ((spec.request ?? '') === '') failures.push(required(requestPath));
  // What was once accepted never changes, so it is not verified again.
  else if (isNew) failures.push(...validatePkcs10(spec.request, requestPath));
  failures.push(...validateUsages(spec.usages ?? [], specPath.child('usages')));
  const legacy = dialect.signers.legacyUnknown;
  if (spec.signerName === legacy) {
    const detail = 'the legacy signerName is not allowed via this API version';
    failures.push(invalidValue(specPath.child('signerName'), legacy, detail));
  } else failures.push(...validateSignerName(spec.signerName ?? ''));
  const seconds = spec.expirationSeconds;
  if (seconds !== undefined && seconds < minExpirationSeconds) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    failures.push(invalidValue(specPath.child('expirationSeconds'), seconds, detail));
  }
  return failures;
}

function validatePkcs10(request: string, path: FieldPath): FieldFailure[] {
  try {
    checkCertificateRequest(request);
    return [];
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return [invalidValue(path, request, error.message)];
  }
}

function validateUsages(usages: string[], path: FieldPath): FieldFailure[] {
  if (usages.length === 0) return [required(path, 'usages must be provided')];
  return usages.flatMap((usage, i) => {
    const failures = keyUsages.includes(usage) ? [] : [notSupported(path.index(i), usage, keyUsages)];
    return usages.indexOf(usage) < i ? [...failures, duplicate(path.index(i), usage)] : failures;
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

/** An update of `approval` changes nothing but the conditions; in place, still to be validated. */
export function prepareApproval(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  context: Pick<StrategyContext, 'now'>,
): void {
  copyField(request, old, 'spec');
  const status = { ...old.status };
  copyField(status, request.status ?? {}, 'conditions');
  request.status = status;
  setConditionTimes(request, context.now);
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
