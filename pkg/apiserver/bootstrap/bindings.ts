/** The default ClusterRoleBindings, and the Roles and RoleBindings of the system namespaces. */
import type { ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { withBootstrapMarks } from '#apiserver/bootstrap/cluster-roles.js';
import { controllerRulesFor, type Gate } from '#apiserver/bootstrap/controller-roles.js';
import { rule } from '#apiserver/bootstrap/rule-notation.js';

interface Subjects {
  user(name: string): Subject;
  group(name: string): Subject;
  account(name: string): Subject;
}

function subjectsOf(dialect: Dialect): Subjects {
  const apiGroup = dialect.groupName('rbac');
  return {
    user: (name) => ({ kind: 'User', apiGroup, name }),
    group: (name) => ({ kind: 'Group', apiGroup, name }),
    account: (name) => ({ kind: 'ServiceAccount', name, namespace: dialect.namespaces.system }),
  };
}

export function bootstrapClusterRoleBindings(dialect: Dialect, gate: Gate): ClusterRoleBinding[] {
  const { user, group, account } = subjectsOf(dialect);
  const { users, groups, components, shortName: short } = dialect;
  const controllerManager = user(users.controllerManager);
  const binding = (name: string, ...subjects: Subject[]): ClusterRoleBinding =>
    withBootstrapMarks({ metadata: { name }, roleRef: roleRef(dialect, 'ClusterRole', name), subjects }, dialect);
  // Bind the controller manager to its controllers' roles: it may request tokens for their accounts, so this grants it nothing
  // new, and it needs no account per controller.
  const controllers = [...Object.keys(controllerRulesFor(gate)), 'certificate-controller'];
  return [
    binding('cluster-admin', group(groups.masters)),
    binding('system:basic-user', group(groups.authenticated)),
    binding('system:discovery', group(groups.authenticated)),
    binding('system:public-info-viewer', group(groups.authenticated), group(groups.unauthenticated)),
    binding('system:monitoring', group(groups.monitoring)),
    binding('system:service-account-issuer-discovery', group(groups.serviceAccounts)),
    binding(`system:${components.controllerManager}`, controllerManager),
    binding(`system:${components.scheduler}`, user(users.scheduler)),
    binding('system:volume-scheduler', user(users.scheduler)),
    // Node agents may run the name server.
    binding(`system:${short}-dns`, account(`${short}-dns`), group(groups.nodes)),
    // Nodes get their rights from the node authorizer; clusters without it may add subjects here.
    binding('system:node'),
    binding('system:node-proxier', user(users.serviceProxy)),
    // The service proxy enforces network policies, alone or in the agent's process.
    binding(`system:${short}-network-policies`, user(users.serviceProxy), group(groups.nodes)),
    ...controllers.map((name) => binding(`system:controller:${name}`, account(name), controllerManager)),
  ];
}

function roleRef(dialect: Dialect, kind: 'Role' | 'ClusterRole', name: string): RoleRef {
  return { apiGroup: dialect.groupName('rbac'), kind, name };
}

/** ConfigMap by which extension API servers authenticate users. */
export const authenticationConfigMap = 'extension-apiserver-authentication';

export function bootstrapRoles(dialect: Dialect): Role[] {
  const { system, public: open } = dialect.namespaces;
  const { controllerManager, scheduler } = dialect.components;
  const events = 'create patch update | core events | events';
  const role = (namespace: string, name: string, ...texts: string[]): Role =>
    withBootstrapMarks({ metadata: { name, namespace }, rules: texts.map((text) => rule(dialect, text)) }, dialect);
  const locking = (component: string) =>
    role(
      system,
      `system::leader-locking-${component}`,
      'watch | core | configmaps',
      `get update | core | configmaps | ${component}`,
    );
  return [
    role(
      open,
      'system:controller:bootstrap-signer',
      'get list watch | core | configmaps',
      'update | core | configmaps | cluster-info',
      events,
    ),
    role(
      system,
      'extension-apiserver-authentication-reader',
      `get list watch | core | configmaps | ${authenticationConfigMap}`,
    ),
    locking(controllerManager),
    locking(scheduler),
    role(system, 'system:controller:bootstrap-signer', 'get list watch | core | secrets'),
    role(system, 'system:controller:cloud-provider', 'create get list watch | core | configmaps'),
    role(system, 'system:controller:token-cleaner', 'delete get list watch | core | secrets', events),
  ];
}

export function bootstrapRoleBindings(dialect: Dialect): RoleBinding[] {
  const { user, account } = subjectsOf(dialect);
  const { system, public: open } = dialect.namespaces;
  const { components, users } = dialect;
  const binding = (namespace: string, name: string, role: string, ...subjects: Subject[]): RoleBinding =>
    withBootstrapMarks({ metadata: { name, namespace }, roleRef: roleRef(dialect, 'Role', role), subjects }, dialect);
  const locking = (component: string, who: string) =>
    binding(
      system,
      `system::leader-locking-${component}`,
      `system::leader-locking-${component}`,
      user(who),
      account(component),
    );
  // The controller manager gets its controllers' roles here, too; see above.
  const manager = user(users.controllerManager);
  const controller = (namespace: string, name: string, ...more: Subject[]) =>
    binding(namespace, `system:controller:${name}`, `system:controller:${name}`, account(name), ...more);
  return [
    controller(open, 'bootstrap-signer', manager),
    binding(
      system,
      'system::extension-apiserver-authentication-reader',
      'extension-apiserver-authentication-reader',
      user(users.controllerManager),
      user(users.scheduler),
    ),
    locking(components.controllerManager, users.controllerManager),
    locking(components.scheduler, users.scheduler),
    controller(system, 'bootstrap-signer', manager),
    controller(system, 'cloud-provider'),
    controller(system, 'token-cleaner', manager),
  ];
}
