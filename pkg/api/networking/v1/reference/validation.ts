/** Rules of references to objects of any kind: parameters of ingress classes, backends of ingresses. */
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import { addAll, invalidEach, required } from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

interface TypedReference {
  readonly apiGroup?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** Kind and name are required and must be valid in a URL; an optional group must be a domain. */
export function validateTypedReference(reference: TypedReference, path: FieldPath): readonly FieldFailure[] {
  const { apiGroup } = reference;
  const failures = apiGroup === undefined ? [] : [...checkDNSSubdomain(path.child('apiGroup'), apiGroup)];
  for (const field of ['kind', 'name'] as const) {
    const value = reference[field] ?? '';
    const at = path.child(field);
    if (value === '') failures.push(required(at, `${field} is required`));
    else addAll(failures, invalidEach(at, value, pathSegmentErrors(value)));
  }
  return failures;
}
