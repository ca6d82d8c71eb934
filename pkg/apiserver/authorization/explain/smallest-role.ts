/** The smallest role that allows a request, and its binding to the user. Pure. */
import type { PolicyRule, RoleRef, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface Grant {
  readonly role: GrantObject & { readonly rules: readonly PolicyRule[] };
  readonly binding: GrantObject & { readonly roleRef: RoleRef; readonly subjects: readonly Subject[] };
}

interface GrantObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** A Role for requests in a namespace, otherwise a ClusterRole: one rule with one value in each field. */
export function smallestGrant(request: AuthorizationAttributes, dialect: Dialect): Grant {
  const { resourceRequest, namespace, user } = request;
  const group = dialect.groupName('rbac');
  const apiVersion = dialect.apiVersion('rbac', 'v1');
  const scope =
    resourceRequest && namespace !== '' ? { prefix: '', place: { namespace } } : { prefix: 'Cluster', place: {} };
  const kind = `${scope.prefix}Role`;
  const metadata = { name: nameFor(request), ...scope.place };
  return {
    role: { apiVersion, kind, metadata, rules: [ruleFor(request)] },
    binding: {
      apiVersion,
      kind: `${kind}Binding`,
      metadata: { ...metadata, name: `${metadata.name}-${slug(user.name)}` },
      roleRef: { apiGroup: group, kind, name: metadata.name },
      subjects: [subjectFor(user, group)],
    },
  };
}

function ruleFor({
  resourceRequest,
  verb,
  group,
  resource,
  subresource,
  name,
  path,
}: AuthorizationAttributes): PolicyRule {
  if (!resourceRequest) return { verbs: [verb], nonResourceURLs: [path] };
  const resources = [subresource === '' ? resource : `${resource}/${subresource}`];
  return { verbs: [verb], apiGroups: [group], resources, ...(name === '' ? {} : { resourceNames: [name] }) };
}

function nameFor({ resourceRequest, verb, resource, subresource, name, path }: AuthorizationAttributes): string {
  const words = resourceRequest ? [verb, resource, subresource, name] : [verb, path];
  return words
    .map(slug)
    .filter((word) => word !== '')
    .join('-');
}

const maxSlug = 60;

/** Characters that any name may have. */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxSlug)
    .replace(/^-+|-+$/g, '');
}

const accountPrefix = 'system:serviceaccount:';

function subjectFor({ name }: UserInfo, apiGroup: string): Subject {
  const [namespace = '', account = '', ...more] = name.startsWith(accountPrefix)
    ? name.slice(accountPrefix.length).split(':')
    : [];
  if (namespace === '' || account === '' || more.length > 0) return { apiGroup, kind: 'User', name };
  return { kind: 'ServiceAccount', namespace, name: account };
}
