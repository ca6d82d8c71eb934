/** Access reviews, sent to the server. */

import type { Api } from '#cmd/orchctl/api/api.js';
import type { AccessTarget } from '#cmd/orchctl/commands/access/target.js';

export interface ReviewStatus {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

export interface ReviewedUser {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
}

/** `user` absent: about the user who sends the review. */
export async function reviewAccess(api: Api, target: AccessTarget, user?: ReviewedUser): Promise<ReviewStatus> {
  const { dialect } = await api.catalog();
  const apiVersion = dialect.apiVersion('authorization', 'v1');
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const { resourceRequest, verb, group, resource, subresource, namespace, name, path } = target;
  const attributes = resourceRequest
    ? { resourceAttributes: { namespace, verb, group, resource, subresource, name } }
    : { nonResourceAttributes: { path, verb } };
  const subject = user && {
    user: user.name,
    groups: user.groups,
    ...(user.uid === undefined ? {} : { uid: user.uid }),
  };
  const review = { apiVersion, kind, spec: { ...attributes, ...subject } };
  const { status } = await api.json<{ readonly status: ReviewStatus }>(
    'POST',
    `/apis/${apiVersion}/${kind.toLowerCase()}s`,
    review,
  );
  return status;
}
