/** What the built-in ingress controller needs in the API: a class, and the rights of its user. */
import { isDeepStrictEqual } from 'node:util';
import { ingressclasses } from '#api/networking/v1/resources.gen.js';
import type { IngressClass } from '#api/networking/v1/types.gen.js';
import { clusterrolebindings, clusterroles } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject, Client } from '#client/client.js';

const roleName = 'system:ingress-controller';
const className = 'built-in';

/** What is there stays as it is. The class is the default unless another one is: with two of them, Ingresses would be refused. */
export async function setUpIngress(client: Client): Promise<void> {
  const { dialect } = client;
  const unlessThere = (made: Promise<ApiObject>) =>
    made.catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  const { defaultClassAnnotation } = dialect.ingress;
  const { items } = await client.resource(ingressclasses).list();
  const hasDefault = items.some(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true');
  await Promise.all([
    unlessThere(client.resource(clusterroles).create(ingressRole(dialect))),
    unlessThere(client.resource(clusterrolebindings).create(ingressBinding(dialect))),
    unlessThere(client.resource(ingressclasses).create(ingressClass(dialect, !hasDefault))),
  ]);
}

/**
 * Takes the class away when the controller is off: Ingresses without a class would be given to nobody. One that somebody
 * has changed stays, and so do the rights, which a controller that runs elsewhere may use.
 */
export async function removeIngressClass(client: Client): Promise<void> {
  const { dialect } = client;
  const classes = client.resource(ingressclasses);
  try {
    const found = await classes.get(className);
    if (!isAsMade(found, dialect)) return;
    const { resourceVersion, uid } = found.metadata;
    await classes.delete(className, {
      preconditions: { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    });
  } catch (error) {
    // Somebody changes it, or has taken it away.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

function isAsMade({ metadata, spec }: IngressClass, dialect: Dialect): boolean {
  const { annotations = {}, labels = {} } = metadata;
  return [true, false].some((isDefault) => {
    const made = ingressClass(dialect, isDefault);
    return isDeepStrictEqual(
      { annotations, labels, spec },
      { annotations: made.metadata.annotations, labels: {}, spec: made.spec },
    );
  });
}

/** @param isDefault Of Ingresses that name no class. */
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
    // It lists those of type TLS alone; roles cannot say so.
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
