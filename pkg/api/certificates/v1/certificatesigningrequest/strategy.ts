import { validateApproval, validateStatus } from '#api/certificates/v1/certificatesigningrequest/status-validation.js';
import { declaration } from '#api/certificates/v1/certificatesigningrequest.js';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import { copyField, kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age, humanDuration } from '#api/table/age.js';
import { CertificateRequestError, readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  goBytes,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from '#apimachinery/validation/failure.js';
import {
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  maxLabelLength,
  maxSubdomainLength,
  type NameValidator,
  pathSegmentErrors,
} from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { wordedRangesOf } from '#apimachinery/validation/ranges.js';

const specPath = FieldPath.of('spec');
const keyUsages: readonly string[] = declaration.enums?.['KeyUsage'] ?? [];
const checkLifetime = wordedRangesOf(
  declaration.types.CertificateSigningRequestSpec,
  ({ minimum }) => `may not specify a duration less than ${minimum} seconds (10 minutes)`,
  'expirationSeconds',
);

export const certificateSigningRequestStrategy: Strategy<CertificateSigningRequest> =
  kindStrategy<CertificateSigningRequest>(certificatesigningrequests, {
    name: pathSegmentErrors,
    prepareForCreate(request, context) {
      setRequester(request, context);
    },
    // The spec never changes; an update can only change metadata.
    prepareForUpdate: (request, old) => copyField(request, old, 'spec'),
    prepareForStatusUpdate: (request, old, context) => setConditionTimes(request, old, context.now),
    partUpdates: { approval: { prepare: prepareApproval, validate: validateApproval } },
    validate: (request, context, old) => validateRequest(request, context.dialect, old),
    validateStatusUpdate: (request, old) => validateStatus(request, old),
    selectableFields: (request) => ({ 'spec.signerName': request.spec.signerName ?? '' }),
    cells: (request, context) => [
      request.metadata.name ?? '',
      age(request.metadata.creationTimestamp, context.now),
      request.spec.signerName || '<none>',
      request.spec.username ?? '',
      requestedDuration(request),
      stateText(request),
    ],
  });

function requestedDuration({ spec: { expirationSeconds } }: CertificateSigningRequest): string {
  return expirationSeconds === undefined ? '<none>' : humanDuration(expirationSeconds * 1000);
}

/** The requester is the authenticated user, whatever the object contains. */
function setRequester({ spec }: Draft<CertificateSigningRequest>, { user }: StrategyContext): void {
  for (const field of ['username', 'uid', 'groups', 'extra'] as const) delete spec[field];
  if (user === undefined) return;
  spec.username = user.name;
  if ((user.uid ?? '') !== '' && user.uid !== undefined) spec.uid = user.uid;
  if (user.groups.length > 0) spec.groups = [...user.groups];
  const extra = Object.entries(user.extra ?? {});
  if (extra.length > 0) spec.extra = Object.fromEntries(extra.map(([key, values]) => [key, [...values]]));
}

/** Missing times: now, or the time when the condition got its status. */
function setConditionTimes(
  request: Draft<CertificateSigningRequest>,
  old: CertificateSigningRequest,
  now: number,
): void {
  const conditions = request.status?.conditions;
  if (conditions === undefined) return;
  const since = (type: string | undefined, status: string | undefined): string | undefined =>
    old.status?.conditions?.find((condition) => condition.type === type && condition.status === status)
      ?.lastTransitionTime;
  request.status = {
    ...request.status,
    conditions: conditions.map((condition) => ({
      ...condition,
      lastTransitionTime: condition.lastTransitionTime ?? since(condition.type, condition.status) ?? formatTime(now),
      lastUpdateTime: condition.lastUpdateTime ?? formatTime(now),
    })),
  };
}

/** `old` is the stored object: its own violations are tolerated. */
function validateRequest(
  { spec }: CertificateSigningRequest,
  dialect: Dialect,
  old: CertificateSigningRequest | undefined,
): FieldFailure[] {
  // An accepted request never changes, so it is not verified again.
  const failures = old === undefined ? validatePkcs10(spec.request, specPath.child('request')) : [];
  addAll(failures, validateUsages(spec.usages ?? [], old?.spec.usages ?? [], specPath.child('usages')));
  const legacy = dialect.signers.legacyUnknown;
  if (spec.signerName !== legacy)
    addAll(failures, validateSignerName(spec.signerName ?? '', specPath.child('signerName')));
  else if (old?.spec.signerName !== legacy) {
    const detail = 'the legacy signerName is not allowed via this API version';
    failures.push(invalidValue(specPath.child('signerName'), legacy, detail));
  }
  addAll(failures, checkLifetime(spec, specPath));
  return failures;
}

function validatePkcs10(request: string | undefined, path: FieldPath): FieldFailure[] {
  try {
    readCertificateRequest(request ?? '');
    return [];
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return [invalidValue(path, goBytes(request), error.message)];
  }
}

function validateUsages(usages: readonly string[], old: readonly string[], path: FieldPath): FieldFailure[] {
  if (usages.length === 0) return [required(path, 'usages must be provided')];
  const unknownFree = old.some((usage) => !keyUsages.includes(usage));
  const twiceFree = new Set(old).size < old.length;
  const failures: FieldFailure[] = [];
  const repeated = repeatedAt(usages);
  usages.forEach((usage, i) => {
    if (!unknownFree && !keyUsages.includes(usage)) failures.push(notSupported(path.index(i), usage, keyUsages));
    if (!twiceFree && repeated.has(i)) failures.push(duplicate(path.index(i), usage));
  });
  return failures;
}

/** An update of `approval` changes only the conditions; in place, before validation. */
export function prepareApproval(
  request: Draft<CertificateSigningRequest>,
  old: CertificateSigningRequest,
  context: Pick<StrategyContext, 'now'>,
): void {
  copyField(request, old, 'spec');
  const status = copyJson(old.status ?? {});
  copyField(status, request.status ?? {}, 'conditions');
  request.status = status;
  setConditionTimes(request, old, context.now);
}

function stateText({ status }: CertificateSigningRequest): string {
  const has = (type: string): boolean => getCondition(status?.conditions, type) !== undefined;
  const state = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  const failed = has('Failed') ? ',Failed' : '';
  return `${state}${failed}${(status?.certificate ?? '') === '' ? '' : ',Issued'}`;
}

/** A path may contain a resource name and a namespace: a subdomain, a dot and a label. */
const maxPathLength = maxSubdomainLength + 1 + maxLabelLength;
const maxLength = maxSubdomainLength + 1 + maxPathLength;

/** Rules of signer names: `example.com/signer-name`. */
function validateSignerName(name: string, path: FieldPath): FieldFailure[] {
  if (name === '') return [required(path, 'signerName must be provided')];
  const [domain = '', rest, ...more] = name.split('/');
  if (rest === undefined || more.length > 0) {
    const text = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidValue(path, name, text)];
  }
  const failures = domain.length > maxSubdomainLength ? [tooLong(path, maxSubdomainLength)] : [];
  const labels = domain.split('.');
  addAll(failures, checkParts(labels, domain, dns1123LabelErrors, path));
  if (labels.length < 2) {
    failures.push(invalidValue(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  addAll(failures, checkParts(rest.split('.'), rest, dns1123SubdomainErrors, path));
  if (name.length > maxLength) failures.push(tooLong(path, maxLength));
  return failures;
}

function checkParts(parts: readonly string[], whole: string, errors: NameValidator, path: FieldPath): FieldFailure[] {
  // Reports only the first invalid part.
  const wrong = parts.find((part) => errors(part).length > 0);
  if (wrong === undefined) return [];
  return errors(wrong).map((error) => invalidValue(path, whole, `validating label ${quoted(wrong)}: ${error}`));
}
