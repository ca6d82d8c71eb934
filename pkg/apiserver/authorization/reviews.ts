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
import {
  validateAccessReview,
  validateLocalAccessReview,
  validateSelfAccessReview,
} from '#apiserver/authorization/review-validation.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { VirtualResource } from '#apiserver/resources/endpoints.js';

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
        refuse(options, validateAccessReview(review));
        return {
          ...review,
          status: await answer(options, review.spec, subjectOf(review.spec)),
        };
      },
    },
    {
      ...base,
      resource: 'localsubjectaccessreviews',
      async handle({ object, namespace }) {
        const review = object as LocalSubjectAccessReview;
        refuse(options, validateLocalAccessReview(review));
        if (review.spec?.resourceAttributes?.namespace !== namespace)
          throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
        return {
          ...review,
          status: await answer(options, review.spec, subjectOf(review.spec)),
        };
      },
    },
    {
      ...base,
      resource: 'selfsubjectaccessreviews',
      async handle({ object, context }) {
        const review = object as SelfSubjectAccessReview;
        refuse(options, validateSelfAccessReview(review));
        return { ...review, status: await answer(options, review.spec, context.user) };
      },
    },
    {
      ...base,
      resource: 'selfsubjectrulesreviews',
      handle({ object, context }) {
        const review = object as SelfSubjectRulesReview;
        const namespace = review.spec?.namespace ?? '';
        if (namespace === '') throw badRequest('no namespace on request');
        // 1.24 answers with the status alone.
        return Promise.resolve({ metadata: {}, spec: {}, status: ownRules(options, context.user, namespace) });
      },
    },
  ];
}

function subjectOf(spec: SubjectAccessReviewSpec | undefined): UserInfo {
  const { user = '', groups = [], uid, extra } = spec ?? {};
  return { name: user, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
}

/** Throws a 422 with all that is wrong with a review. */
/** The kind is empty, as it is with 1.24. */
function refuse({ dialect }: AccessReviewOptions, failures: FieldFailure[]): void {
  if (failures.length > 0) throw invalid({ group: dialect.groupName('authorization'), kind: '' }, '', failures);
}

async function answer(
  { authorizer }: AccessReviewOptions,
  spec: SelfSubjectAccessReviewSpec | undefined,
  user: UserInfo,
): Promise<SubjectAccessReviewStatus> {
  const found = await authorizer.authorize(attributesOf(spec ?? {}, user));
  return {
    allowed: found.decision === 'allow',
    ...(found.decision === 'deny' ? { denied: true } : {}),
    ...(found.reason === '' ? {} : { reason: found.reason }),
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
