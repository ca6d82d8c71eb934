/** Subjects of bindings, as keys of an index. */
import type { Subject } from '#api/rbac/v1/types.gen.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { serviceAccountUser } from '#apiserver/serviceaccount/claims.js';

export type SubjectKey = string;

/** A service account's key is that of its user name. `bindingNamespace` is empty for cluster bindings. */
export function subjectKey(subject: Subject, bindingNamespace: string): SubjectKey | undefined {
  switch (subject.kind) {
    case 'User':
      return `u:${subject.name}`;
    case 'Group':
      return `g:${subject.name}`;
    case 'ServiceAccount': {
      const namespace =
        subject.namespace === undefined || subject.namespace === '' ? bindingNamespace : subject.namespace;
      return namespace === '' ? undefined : `u:${serviceAccountUser(namespace, subject.name)}`;
    }
    default:
      return undefined;
  }
}

/** All keys of subjects that match the user. */
export function userKeys(user: UserInfo): SubjectKey[] {
  return [`u:${user.name}`, ...user.groups.map((group) => `g:${group}`)];
}

export function isGroupKey(key: SubjectKey, groups: ReadonlySet<string>): boolean {
  return key.startsWith('g:') && groups.has(key.slice(2));
}

/** `Group "system:masters"`, for reasons. */
export function describeSubject(subject: Subject): string {
  const name = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace ?? ''}` : subject.name;
  return `${subject.kind} ${JSON.stringify(name)}`;
}
