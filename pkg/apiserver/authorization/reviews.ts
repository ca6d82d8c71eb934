/** Access reviews: what somebody may do, asked for themselves or for others. */
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '#api/authorization/v1/types.gen.js';
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, type FieldFailure, invalid } from '#apimachinery/errors/status.js';
import type { AuthorizationAttributes, Authorizer } from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { VirtualResource } from '#apiserver/registry/endpoints.js';

/** The rules that can be listed for a user; an authorizer that cannot list any is not complete. */
export interface RuleResolver {
  rulesFor(user: UserInfo, namespace: string): { readonly rules: PolicyRule[]; readonly errors: string[] };
}

export interface AccessReviewOptions {
  readonly dialect: Dialect;
  readonly authorizer: Authorizer;
  readonly rules: RuleResolver | undefined;
}

export function accessReviews(options: AccessReviewOptions): VirtualResource[] {
  const base = { group: 'authorization', subresource: '' } as const;
  return [
    {
      ...base,
      resource: 'subjectaccessreviews',
      async handle({ object }) {
        const review = object as SubjectAccessReview;
        return {
          ...review,
          status: await reviewed(options, 'SubjectAccessReview', review.spec, subjectOf(review.spec)),
        };
      },
    },
    {
      ...base,
      resource: 'localsubjectaccessreviews',
      async handle({ object, namespace }) {
        const review = object as LocalSubjectAccessReview;
        if (review.spec?.resourceAttributes?.namespace !== namespace)
          throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
        return {
          ...review,
          status: await reviewed(options, 'LocalSubjectAccessReview', review.spec, subjectOf(review.spec)),
        };
      },
    },
    {
      ...base,
      resource: 'selfsubjectaccessreviews',
      async handle({ object, context }) {
        const review = object as SelfSubjectAccessReview;
        return { ...review, status: await reviewed(options, 'SelfSubjectAccessReview', review.spec, context.user) };
      },
    },
    {
      ...base,
      resource: 'selfsubjectrulesreviews',
      handle({ object, context }) {
        const review = object as SelfSubjectRulesReview;
        const namespace = review.spec?.namespace ?? '';
        if (namespace === '') throw badRequest('no namespace on request');
        return Promise.resolve({ ...review, status: ownRules(options, context.user, namespace) });
      },
    },
  ];
}

function subjectOf(spec: SubjectAccessReviewSpec | undefined): UserInfo {
  const { user = '', groups = [], uid, extra } = spec ?? {};
  return { name: user, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
}

async function reviewed(
  { authorizer, dialect }: AccessReviewOptions,
  kind: string,
  spec: SelfSubjectAccessReviewSpec | undefined,
  user: UserInfo,
): Promise<SubjectAccessReviewStatus> {
  const failures = specFailures(spec, user);
  if (failures.length > 0) throw invalid({ group: dialect.groupName('authorization'), kind }, '', failures);
  const answer = await authorizer.authorize(attributesOf(spec ?? {}, user));
  return {
    allowed: answer.decision === 'allow',
    ...(answer.decision === 'deny' ? { denied: true } : {}),
    ...(answer.reason === '' ? {} : { reason: answer.reason }),
  };
}

function specFailures(spec: SelfSubjectAccessReviewSpec | undefined, user: UserInfo): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const both = spec?.resourceAttributes !== undefined && spec.nonResourceAttributes !== undefined;
  if (both)
    failures.push({
      field: 'spec.nonResourceAttributes',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: cannot be specified in combination with resourceAttributes',
    });
  if (spec?.resourceAttributes === undefined && spec?.nonResourceAttributes === undefined)
    failures.push({
      field: 'spec.resourceAttributes',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
    });
  if (user.name === '' && user.groups.length === 0)
    failures.push({
      field: 'spec.user',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "": at least one of user or group must be specified',
    });
  return failures;
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
  if (rules === undefined)
    return {
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: 'no authorizer of this server can list rules',
    };
  const found = rules.rulesFor(user, namespace);
  return {
    resourceRules: found.rules.flatMap(({ resources, verbs, apiGroups = [], resourceNames }) =>
      resources === undefined
        ? []
        : [{ verbs, apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }) }],
    ),
    nonResourceRules: found.rules.flatMap(({ nonResourceURLs, verbs }) =>
      nonResourceURLs === undefined ? [] : [{ verbs, nonResourceURLs }],
    ),
    incomplete: found.errors.length > 0,
    ...(found.errors.length === 0 ? {} : { evaluationError: found.errors.join(', ') }),
  };
}
