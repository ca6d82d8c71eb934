/** The strategies of role bindings and cluster role bindings. */

import type { TableRowCells } from '#api/meta/object.js';
import { clusterrolebindings, rolebindings } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRoleBinding, RoleBinding, Subject } from '#api/rbac/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain } from '#apimachinery/validation/checks.js';
import {
  addAll,
  type GoValue,
  goStruct,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const roleRefPath = FieldPath.of('roleRef');
const subjectsPath = FieldPath.of('subjects');

type AnyBinding = RoleBinding | ClusterRoleBinding;

export const roleBindingStrategy: Strategy<RoleBinding> = kindStrategy<RoleBinding>(
  rolebindings,
  bindingRules(['Role', 'ClusterRole'], true),
);

export const clusterRoleBindingStrategy: Strategy<ClusterRoleBinding> = kindStrategy<ClusterRoleBinding>(
  clusterrolebindings,
  bindingRules(['ClusterRole'], false),
);

function bindingRules(roleKinds: readonly string[], namespaced: boolean) {
  return {
    name: pathSegmentErrors,
    allowCreateOnUpdate: true,
    defaults: (binding: Draft<AnyBinding>, context: { dialect: Dialect }) => defaultGroups(binding, context.dialect),
    validate: (binding: AnyBinding, context: { dialect: Dialect }) =>
      validateBinding(binding, { roleKinds, namespaced, group: context.dialect.groupName('rbac') }),
    validateUpdate: (binding: AnyBinding, old: AnyBinding) =>
      semanticEqual(binding.roleRef, old.roleRef)
        ? []
        : [invalidValue(roleRefPath, shownRef(binding.roleRef), 'cannot change roleRef')],
    cells: (binding: AnyBinding, context: { now: number }) => bindingCells(binding, context.now),
  };
}

function defaultGroups(binding: Draft<AnyBinding>, dialect: Dialect): void {
  const group = dialect.groupName('rbac');
  if (binding.roleRef !== undefined) binding.roleRef.apiGroup ||= group;
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= group;
  }
}

interface BindingForm {
  readonly roleKinds: readonly string[];
  readonly namespaced: boolean;
  /** API group of roles, users and groups. */
  readonly group: string;
}

function validateBinding(binding: AnyBinding, { roleKinds, namespaced, group }: BindingForm): FieldFailure[] {
  const { apiGroup = '', kind = '', name = '' } = binding.roleRef ?? { apiGroup: group };
  const failures: FieldFailure[] = [];
  if (apiGroup !== group) failures.push(notSupported(roleRefPath.child('apiGroup'), apiGroup, [group]));
  if (!roleKinds.includes(kind)) failures.push(notSupported(roleRefPath.child('kind'), kind, roleKinds));
  if (name === '') failures.push(required(roleRefPath.child('name')));
  else addAll(failures, invalidEach(roleRefPath.child('name'), name, pathSegmentErrors(name)));
  binding.subjects?.forEach((subject, i) => {
    const at = subjectsPath.index(i);
    addAll(failures, validateSubject(subject, group, at));
    // In a role binding, an account without namespace matches no account; a cluster role binding requires it.
    if (!namespaced && subject.kind === 'ServiceAccount' && (subject.namespace ?? '') === '') {
      failures.push(required(at.child('namespace')));
    }
  });
  return failures;
}

function validateSubject(subject: Subject, group: string, path: FieldPath): FieldFailure[] {
  const { kind = '', name = '', apiGroup = '' } = subject;
  const failures: FieldFailure[] = [];
  if (name === '') failures.push(required(path.child('name')));
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') addAll(failures, checkDNSSubdomain(path.child('name'), name));
      if (apiGroup !== '') failures.push(notSupported(path.child('apiGroup'), apiGroup, ['']));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== group) failures.push(notSupported(path.child('apiGroup'), apiGroup, [group]));
      break;
    default:
      failures.push(notSupported(path.child('kind'), kind, ['ServiceAccount', 'User', 'Group']));
  }
  return failures;
}

function bindingCells(binding: AnyBinding, now: number): TableRowCells {
  const subjects = binding.subjects ?? [];
  const names = (kind: string): string =>
    subjects
      .filter((subject) => subject.kind === kind)
      .map(({ name, namespace = '' }) =>
        kind === 'ServiceAccount' && namespace !== '' ? `${namespace}/${name}` : name,
      )
      .join(', ');
  return [
    binding.metadata.name ?? '',
    `${binding.roleRef.kind}/${binding.roleRef.name}`,
    age(binding.metadata.creationTimestamp, now),
    names('User'),
    names('Group'),
    names('ServiceAccount'),
  ];
}

function shownRef(roleRef: AnyBinding['roleRef'] | undefined): GoValue {
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {};
  return goStruct('rbac.RoleRef', { APIGroup: apiGroup, Kind: kind, Name: name });
}
