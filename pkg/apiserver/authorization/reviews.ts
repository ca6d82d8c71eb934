/** Access reviews: whether a user may do something, and which rules apply to a user. */
import { declaration as schema } from '#api/authorization/v1/selfsubjectaccessreview.js';
import { declaration as shared } from '#api/authorization/v1/shared.js';
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '#api/authorization/v1/types.gen.js';
import { goValuesOf, metaValues } from '#api/go/go-values.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { aggregate } from '#apimachinery/errors/aggregate.js';
import { badRequest, type FieldFailure, invalid } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { membersOf } from '#apimachinery/validation/unions.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { RuleResolver } from '#apiserver/authorization/rule-resolver.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';

interface Explainer {
  /** Annotations of the answer, about the request of the review; `client` sends the review. */
  annotations(request: AuthorizationAttributes, client: UserInfo): Promise<Readonly<Record<string, string>>>;
}

export interface AccessReviewOptions {
  readonly dialect: Dialect;
  readonly authorizer: Authorizer;
  readonly rules: RuleResolver;
  /** Explains decisions to clients that opt in. Absent: never. */
  readonly explainer?: Explainer | undefined;
}

export function accessReviews(options: AccessReviewOptions): VirtualResource[] {
  const base = { group: 'authorization', subresource: '' } as const;
  return [
    {
      ...base,
      resource: 'subjectaccessreviews',
      async handle({ object, context }) {
        const review = object as SubjectAccessReview;
        refuse(options, validateAccessReview(review));
        return answered(options, review, subjectOf(review.spec), context);
      },
    },
    {
      ...base,
      resource: 'localsubjectaccessreviews',
      async handle({ object, namespace, context }) {
        const review = object as LocalSubjectAccessReview;
        refuse(options, validateLocalAccessReview(review));
        if (review.spec?.resourceAttributes?.namespace !== namespace)
          throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
        return answered(options, review, subjectOf(review.spec), context);
      },
    },
    {
      ...base,
      resource: 'selfsubjectaccessreviews',
      async handle({ object, context }) {
        const review = object as SelfSubjectAccessReview;
        refuse(options, validateSelfAccessReview(review));
        return answered(options, review, context.user, context);
      },
    },
    {
      ...base,
      resource: 'selfsubjectrulesreviews',
      handle({ object, context }) {
        const review = object as SelfSubjectRulesReview;
        const namespace = review.spec?.namespace ?? '';
        if (namespace === '') throw badRequest('no namespace on request');
        // Like 1.24, respond with the status alone.
        return Promise.resolve({ metadata: {}, spec: {}, status: ownRules(options, context.user, namespace) });
      },
    },
  ];
}

function subjectOf(spec: SubjectAccessReviewSpec | undefined): UserInfo {
  const { user = '', groups = [], uid, extra } = spec ?? {};
  return { name: user, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
}

/** Throws 422 if there are failures. Like in 1.24, the kind is empty. */
function refuse({ dialect }: AccessReviewOptions, failures: FieldFailure[]): void {
  if (failures.length > 0) throw invalid({ group: dialect.groupName('authorization'), kind: '' }, '', failures);
}

type AccessReview = SubjectAccessReview | SelfSubjectAccessReview | LocalSubjectAccessReview;

async function answered<R extends AccessReview>(
  { authorizer, explainer }: AccessReviewOptions,
  review: R,
  user: UserInfo,
  { info, user: client }: RequestContext,
): Promise<R> {
  const attributes = attributesOf(review.spec ?? {}, user);
  const status = statusOf(await authorizer.authorize(attributes));
  if (explainer === undefined || info.query.get('explain') !== 'true') return { ...review, status };
  const annotations = await explainer.annotations(attributes, client);
  return { ...review, metadata: { ...review.metadata, annotations }, status };
}

function statusOf(decided: AuthorizationDecision): SubjectAccessReviewStatus {
  return {
    allowed: decided.decision === 'allow',
    ...(decided.decision === 'deny' ? { denied: true } : {}),
    ...(decided.reason === '' ? {} : { reason: decided.reason }),
    ...(decided.error === undefined ? {} : { evaluationError: decided.error }),
  };
}

function attributesOf(spec: SelfSubjectAccessReviewSpec, user: UserInfo): AuthorizationAttributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  return {
    user,
    verb: resource?.verb ?? path?.verb ?? '',
    resourceRequest: resource !== undefined,
    group: resource?.group ?? '',
    version: resource?.version ?? '*',
    resource: resource?.resource ?? '',
    subresource: resource?.subresource ?? '',
    namespace: resource?.namespace ?? '',
    name: resource?.name ?? '',
    path: path?.path ?? '',
  };
}

function ownRules({ rules }: AccessReviewOptions, user: UserInfo, namespace: string) {
  const resolved = rules.rulesFor(user, namespace);
  return {
    resourceRules: resolved.rules.flatMap(({ resources, verbs, apiGroups = [], resourceNames }) =>
      resources === undefined
        ? []
        : [{ verbs, apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }) }],
    ),
    nonResourceRules: resolved.rules.flatMap(({ nonResourceURLs, verbs }) =>
      nonResourceURLs === undefined ? [] : [{ verbs, nonResourceURLs }],
    ),
    incomplete: resolved.incomplete,
    ...(resolved.errors.length === 0 ? {} : { evaluationError: aggregate(resolved.errors) }),
  };
}

const attributeMembers = membersOf<SelfSubjectAccessReviewSpec>(schema.types.SelfSubjectAccessReviewSpec);
const values = goValuesOf('authorization', 'v1', [schema, shared]);
const goTypes = { resourceAttributes: 'ResourceAttributes', nonResourceAttributes: 'NonResourceAttributes' } as const;
const specPath = FieldPath.of('spec');

export function validateAccessReview({ metadata, spec }: SubjectAccessReview): FieldFailure[] {
  return [...validateAttributes(spec), ...validateSubject(spec), ...validateMetadata(metadata, 'must be empty')];
}

export function validateSelfAccessReview({ metadata, spec }: SelfSubjectAccessReview): FieldFailure[] {
  return [...validateAttributes(spec), ...validateMetadata(metadata, 'must be empty')];
}

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

/** Requires the attributes of either a resource or a path. */
function validateAttributes(spec: SelfSubjectAccessReviewSpec | undefined): FieldFailure[] {
  const [first, second] = attributeMembers(spec ?? {});
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

/** A review is not stored and has no metadata, except the field managers of every written object. */
function validateMetadata(metadata: ObjectMeta | undefined, text: string): FieldFailure[] {
  const { managedFields: _managed, ...others } = metadata ?? {};
  if (Object.values(others).every((value) => value === undefined)) return [];
  return [invalidValue(FieldPath.of('metadata'), metaValues.of('ObjectMeta', others), text)];
}
