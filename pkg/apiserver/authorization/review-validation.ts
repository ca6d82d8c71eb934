/** Rules of what an access review asks. */
import { declaration as schema } from '#api/authorization/v1/selfsubjectaccessreview.js';
import { declaration as shared } from '#api/authorization/v1/shared.js';
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SubjectAccessReview,
} from '#api/authorization/v1/types.gen.js';
import { goValuesOf } from '#api/go/go-values.js';
import { metaValues } from '#api/go/meta-values.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { membersOf } from '#apimachinery/validation/unions.js';

const attributesOf = membersOf<SelfSubjectAccessReviewSpec>(schema.types.SelfSubjectAccessReviewSpec);
const values = goValuesOf('authorization', 'v1', [schema, shared]);
const goTypes = { resourceAttributes: 'ResourceAttributes', nonResourceAttributes: 'NonResourceAttributes' } as const;
const specPath = FieldPath.of('spec');

/** About anybody. */
export function validateAccessReview({ metadata, spec }: SubjectAccessReview): FieldFailure[] {
  return [...validateAttributes(spec), ...validateSubject(spec), ...validateMetadata(metadata, 'must be empty')];
}

/** About who asks. */
export function validateSelfAccessReview({ metadata, spec }: SelfSubjectAccessReview): FieldFailure[] {
  return [...validateAttributes(spec), ...validateMetadata(metadata, 'must be empty')];
}

/** About anybody, in one namespace. */
export function validateLocalAccessReview({ metadata, spec }: LocalSubjectAccessReview): FieldFailure[] {
  const { namespace, ...others } = metadata ?? {};
  const failures = [
    ...validateAttributes(spec),
    ...validateSubject(spec),
    ...validateMetadata(others, 'must be empty except for namespace'),
  ];
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec ?? {};
  if (resource !== undefined && resource.namespace !== namespace) {
    const at = specPath.child('resourceAttributes', 'namespace');
    failures.push(invalidValue(at, resource.namespace ?? '', 'must match metadata.namespace'));
  }
  if (path !== undefined) {
    failures.push(
      invalidValue(
        specPath.child('nonResourceAttributes'),
        values.of('NonResourceAttributes', path),
        'disallowed on this kind of request',
      ),
    );
  }
  return failures;
}

/** Either of a resource or of a path. */
function validateAttributes(spec: SelfSubjectAccessReviewSpec | undefined): FieldFailure[] {
  const [first, second] = attributesOf(spec ?? {});
  if (second !== undefined) {
    const text = 'cannot be specified in combination with resourceAttributes';
    return [invalidValue(specPath.child(second), values.of(goTypes[second], spec?.[second] ?? {}), text)];
  }
  if (first !== undefined) return [];
  const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidValue(specPath.child('resourceAttributes'), undefined, text)];
}

function validateSubject(
  spec: { readonly user?: string; readonly groups?: readonly string[] } | undefined,
): FieldFailure[] {
  if ((spec?.user ?? '') !== '' || (spec?.groups ?? []).length > 0) return [];
  return [invalidValue(specPath.child('user'), '', 'at least one of user or group must be specified')];
}

/** A review is no object that is kept. Who manages its fields is said of everything that is written. */
function validateMetadata(metadata: ObjectMeta | undefined, text: string): FieldFailure[] {
  const { managedFields: _managed, ...others } = metadata ?? {};
  if (Object.values(others).every((value) => value === undefined)) return [];
  return [invalidValue(FieldPath.of('metadata'), metaValues.of('ObjectMeta', others), text)];
}
