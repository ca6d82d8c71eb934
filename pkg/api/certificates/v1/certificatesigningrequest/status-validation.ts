/** Rules of approval, denial and issuance of certificate signing requests. */
import { X509Certificate } from 'node:crypto';
import { declaration as schema } from '#api/certificates/v1/certificatesigningrequest.js';
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from '#api/certificates/v1/types.gen.js';
import { declaration as metaSchema } from '#api/meta/v1/shared.js';
import { decodePem } from '#apimachinery/asn1/pem.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const conditionsPath = FieldPath.of('status', 'conditions');
const certificatePath = FieldPath.of('status', 'certificate');

/** Decisions are final: their status must be True. */
const decisions = schema.enums.RequestConditionType;

/** An update of `status`: must not approve or deny. */
export function validateStatus(request: CertificateSigningRequest, old: CertificateSigningRequest): FieldFailure[] {
  return [
    ...validateConditions(request, old),
    ...validateCertificate(request, old),
    ...validateDecisions(request, old, false),
  ];
}

/** An update of `approval`: approves or denies, must not issue. */
export function validateApproval(request: CertificateSigningRequest, old: CertificateSigningRequest): FieldFailure[] {
  return [...validateConditions(request, old), ...validateDecisions(request, old, true)];
}

/** Violations of the stored conditions, which are tolerated. */
function toleranceOf(old: CertificateSigningRequest) {
  const types = (old.status?.conditions ?? []).map(({ type = '' }) => type);
  return {
    bothDecisions: types.includes('Approved') && types.includes('Denied'),
    sameTypes: new Set(types).size < types.length,
    emptyTypes: types.includes(''),
  };
}

function validateConditions(request: CertificateSigningRequest, old: CertificateSigningRequest): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const tolerance = toleranceOf(old);
  const types = new Set<string>();
  (request.status?.conditions ?? []).forEach(({ type = '', status = '' }, i) => {
    const at = conditionsPath.index(i);
    if (!tolerance.emptyTypes) addAll(failures, checkRequired(at.child('type'), type));
    if (status === '') failures.push(required(at.child('status')));
    else {
      const allowed = decisions.includes(type) ? ['True'] : metaSchema.enums.ConditionStatus;
      if (!allowed.includes(status)) failures.push(notSupported(at.child('status'), status, allowed));
    }
    const other = type === 'Approved' ? 'Denied' : 'Approved';
    if (!tolerance.bothDecisions && (type === 'Approved' || type === 'Denied') && types.has(other)) {
      const text = 'Approved and Denied conditions are mutually exclusive';
      failures.push(invalidValue(at.child('type'), type, text));
    }
    if (types.has(type) && !tolerance.sameTypes) failures.push(duplicate(at.child('type'), type));
    types.add(type);
  });
  return failures;
}

/** Decisions must not change; new ones are made only through `approval`. */
function validateDecisions(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  mayDecide: boolean,
): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const type of decisions) {
    const of = (whole: CertificateSigningRequest): CertificateSigningRequestCondition[] =>
      (whole.status?.conditions ?? []).filter((condition) => condition.type === type);
    const before = of(old);
    const after = of(request);
    const refuse = (verb: string): void => {
      failures.push(forbiddenField(conditionsPath, `updates may not ${verb} a condition of type "${type}"`));
    };
    if (after.length < before.length) refuse('remove');
    else if (mayDecide || type === 'Failed') continue;
    else if (after.length > before.length) refuse('add');
    else if (!semanticEqual(before, after)) refuse('modify');
  }
  return failures;
}

function validateCertificate(request: CertificateSigningRequest, old: CertificateSigningRequest): FieldFailure[] {
  const before = old.status?.certificate ?? '';
  const after = request.status?.certificate ?? '';
  if (before === after) return [];
  const wrong = after === '' || whyNoCertificates(before) !== undefined ? undefined : whyNoCertificates(after);
  const failures = wrong === undefined ? [] : [invalidValue(certificatePath, '<certificate data>', wrong)];
  if (before === '') return failures;
  return [...failures, forbiddenField(certificatePath, 'updates may not modify existing certificate content')];
}

/** Absent content is valid. */
function whyNoCertificates(encoded: string): string | undefined {
  if (encoded === '') return undefined;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const blocks = decodePem(text);
  if (/^-----BEGIN [^-]+-----\r?\n[\w-]+: /m.test(text)) return 'no PEM block headers are permitted';
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block';
  for (const { label, der } of blocks) {
    if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found "${label}"`;
    try {
      new X509Certificate(der);
    } catch (error) {
      return `found CERTIFICATE PEM block that is no certificate: ${error instanceof Error ? error.message : ''}`;
    }
  }
  return undefined;
}
