/** API objects of the built-in ingress controller: its IngressClass, and the rights of its user. */
import { isDeepStrictEqual } from 'node:util';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import type { IngressClass } from '#api/networking/v1/types.gen.js';
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { createIfAbsent } from '#cluster/objects/ensure-object.js';

const roleName = 'system:ingress-controller';
const className = 'built-in';

/**
 * Creates the missing objects; existing ones stay unchanged. The class becomes the default unless there is one: with two
 * default classes Ingresses are refused.
 */
export async function setUpIngress(client: Client): Promise<void> {
  const { dialect } = client;
  const { defaultClassAnnotation } = dialect.ingress;
  const { items } = await client.resource(ingressclasses).list();
  const hasDefault = items.some(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true');
  await Promise.all([
    createIfAbsent(client.resource(clusterroles), ingressRole(dialect)),
    createIfAbsent(client.resource(clusterrolebindings), ingressBinding(dialect)),
    createIfAbsent(client.resource(ingressclasses), ingressClass(dialect, !hasDefault)),
  ]);
}

/**
 * Deletes the class when the controller is off, since no controller would serve Ingresses without a class. A class that a
 * user has changed stays, and so do the rights, which a controller outside of this machine may use.
 */
export async function removeIngressClass(client: Client): Promise<void> {
  const { dialect } = client;
  const classes = client.resource(ingressclasses);
  try {
    const existing = await classes.get(className);
    if (!isUnchanged(existing, dialect)) return;
    const { resourceVersion, uid } = existing.metadata;
    await classes.delete(className, {
      preconditions: { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    });
  } catch (error) {
    // Another client has changed or deleted it.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

function isUnchanged({ metadata, spec }: IngressClass, dialect: Dialect): boolean {
  const { annotations = {}, labels = {} } = metadata;
  return [true, false].some((isDefault) => {
    const own = ingressClass(dialect, isDefault);
    return isDeepStrictEqual(
      { annotations, labels, spec },
      { annotations: own.metadata.annotations, labels: {}, spec: own.spec },
    );
  });
}

/** @param isDefault Whether Ingresses without a class belong to it. */
function ingressClass(dialect: Dialect, isDefault: boolean): IngressClass {
  const annotations = isDefault ? { [dialect.ingress.defaultClassAnnotation]: 'true' } : {};
  return { metadata: { name: className, annotations }, spec: { controller: dialect.ingress.controller } };
}

function ingressRole(dialect: Dialect): ClusterRole {
  const networking = dialect.groupName('networking');
  const read = ['get', 'list', 'watch'];
  const rules: PolicyRule[] = [
    { apiGroups: [networking], resources: ['ingresses', 'ingressclasses'], verbs: read },
    { apiGroups: [networking], resources: ['ingresses/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['services'], verbs: read },
    { apiGroups: [dialect.groupName('discovery')], resources: ['endpointslices'], verbs: read },
    // The controller lists TLS secrets only, which a role cannot express.
    { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ];
  return { metadata: { name: roleName }, rules };
}

function ingressBinding(dialect: Dialect): ClusterRoleBinding {
  const apiGroup = dialect.groupName('rbac');
  return {
    metadata: { name: roleName },
    roleRef: { apiGroup, kind: 'ClusterRole', name: roleName },
    subjects: [{ apiGroup, kind: 'User', name: dialect.users.ingress }],
  };
}
