/** Whose rights a change of a role or a binding may change. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '#api/rbac/v1/types.gen.js';
import { type SubjectKey, subjectKey } from '#apiserver/authorization/rbac/subjects.js';
import type { MirrorChange } from '#apiserver/objects/object-mirror.js';
import type { Revision } from '#storage/store.js';

type Binding = RoleBinding | ClusterRoleBinding;

/** A change that may give rights or take them away. */
export interface PermissionChange {
  /** Where it acts; empty: everywhere. */
  readonly namespace: string;
  /** Whose rights it may change. */
  readonly subjects: ReadonlySet<SubjectKey>;
  /** Undefined where changes were lost. */
  readonly revision: Revision | undefined;
}

/** Receives the changes that concern a subject. */
export interface PermissionFollower {
  /** Called while decisions are still those from before the change. */
  changing(change: PermissionChange): void;
  changed(change: PermissionChange): void;
}

/** Undefined for changes that leave all rights as they are. */
export function changeOfBinding({ old, now, version }: MirrorChange<Binding>): PermissionChange | undefined {
  if (old !== undefined && now !== undefined) {
    const same = isDeepStrictEqual(old.roleRef, now.roleRef) && isDeepStrictEqual(old.subjects, now.subjects);
    if (same) return undefined;
  }
  const subjects = new Set<SubjectKey>();
  for (const binding of [old, now]) if (binding !== undefined) addSubjects(subjects, binding);
  if (subjects.size === 0) return undefined;
  return { namespace: (now ?? old)?.metadata.namespace ?? '', subjects, revision: revisionOf(version) };
}

/** `bindings`: those that may refer to the role. */
export function changeOfRole(
  { old, now, version }: MirrorChange<Role | ClusterRole>,
  bindings: Iterable<Binding>,
): PermissionChange | undefined {
  if (old !== undefined && now !== undefined && isDeepStrictEqual(old.rules, now.rules)) return undefined;
  const { namespace = '', name } = (now ?? old)?.metadata ?? {};
  const kind = namespace === '' ? 'ClusterRole' : 'Role';
  const subjects = new Set<SubjectKey>();
  for (const binding of bindings) {
    const { roleRef, metadata } = binding;
    if (roleRef.kind !== kind || roleRef.name !== name) continue;
    if (namespace === '' || metadata.namespace === namespace) addSubjects(subjects, binding);
  }
  return subjects.size === 0 ? undefined : { namespace, subjects, revision: revisionOf(version) };
}

function addSubjects(keys: Set<SubjectKey>, { subjects = [], metadata }: Binding): void {
  for (const subject of subjects) {
    const key = subjectKey(subject, metadata.namespace ?? '');
    if (key !== undefined) keys.add(key);
  }
}

function revisionOf(version: string | undefined): Revision | undefined {
  return version === undefined || !/^\d+$/.test(version) ? undefined : BigInt(version);
}
