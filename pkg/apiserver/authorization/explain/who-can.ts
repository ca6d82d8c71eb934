/** Which subjects roles and bindings allow a request. Pure. */
import type { Subject } from '#api/rbac/v1/types.gen.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { nearBindings } from '#apiserver/authorization/explain/near-bindings.js';
import type { RbacObjects } from '#apiserver/authorization/rbac/rbac-index.js';

export interface AllowedSubject {
  readonly subject: Subject;
  /** `ClusterRoleBinding view`, `RoleBinding ns/view`. */
  readonly binding: string;
  /** `ClusterRole view`. */
  readonly role: string;
}

/** In the order of the bindings, cluster bindings first. */
export function whoCan(request: Omit<AuthorizationAttributes, 'user'>, objects: RbacObjects): AllowedSubject[] {
  // No subject is this user.
  const user = { name: '', groups: [] };
  const allowing = nearBindings({ ...request, user }, objects).filter(
    ({ lacks }) => lacks.length === 0 || (lacks.length === 1 && lacks[0] === 'subjects'),
  );
  return allowing.flatMap(({ binding, namespace }) => {
    const { metadata, roleRef, subjects = [] } = binding;
    const name = metadata.name ?? '';
    const by = namespace === '' ? `ClusterRoleBinding ${name}` : `RoleBinding ${namespace}/${name}`;
    return subjects.map((subject) => ({ subject, binding: by, role: `${roleRef.kind} ${roleRef.name}` }));
  });
}
