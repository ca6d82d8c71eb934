/** Why a user may or may not do something: the bindings that allow it or come nearest, and the smallest role that would. Pure. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { type Lack, type NearBinding, nearBindings } from '#apiserver/authorization/explain/near-bindings.js';
import { type Grant, smallestGrant } from '#apiserver/authorization/explain/smallest-role.js';
import type { RbacObjects } from '#apiserver/authorization/rbac/rbac-index.js';

export interface ExplainedBinding {
  readonly kind: string;
  /** Absent for a ClusterRoleBinding. */
  readonly namespace?: string;
  readonly name: string;
  /** `ClusterRole view`. */
  readonly role: string;
  /** Fields of binding and role that would have to name more. */
  readonly lacks: readonly Lack[];
  /** What is missing, in a sentence. */
  readonly text: string;
}

export interface AccessExplanation {
  /** Bindings that allow the request. */
  readonly allowedBy: readonly ExplainedBinding[];
  /** The user's bindings that lack least, if they lack at most two things. */
  readonly nearest: readonly ExplainedBinding[];
  /** Bindings that allow the request to other users, the narrowest first. */
  readonly allowsOthers: readonly ExplainedBinding[];
  /** What would allow the request, and nothing else; absent if it is allowed. */
  readonly grant?: Grant;
}

/** Limit of each list. */
const maxShown = 5;
/** A binding that lacks more is not near. */
const maxLacks = 2;

/** `objects` undefined: the asker may not read them, and learns of no bindings. */
export function explainAccess(
  request: AuthorizationAttributes,
  objects: RbacObjects | undefined,
  dialect: Dialect,
): AccessExplanation {
  const near = objects === undefined ? [] : nearBindings(request, objects);
  const own = near.filter(({ lacks }) => !lacks.includes('subjects'));
  const allowing = own.filter(({ lacks }) => lacks.length === 0);
  const least = Math.min(...own.map(({ lacks }) => lacks.length));
  const nearest = least === 0 || least > maxLacks ? [] : own.filter(({ lacks }) => lacks.length === least);
  const others = near.filter(({ lacks }) => lacks.length === 1 && lacks[0] === 'subjects');
  others.sort((a, b) => breadth(a) - breadth(b));
  const shown = (bindings: readonly NearBinding[]) =>
    bindings.slice(0, maxShown).map((each) => explained(each, request));
  return {
    allowedBy: shown(allowing),
    nearest: shown(nearest),
    allowsOthers: allowing.length > 0 ? [] : shown(others),
    ...(allowing.length > 0 ? {} : { grant: smallestGrant(request, dialect) }),
  };
}

/** How much more than one thing the rule allows. */
function breadth({ rule, namespace }: NearBinding): number {
  const lists = [rule?.verbs, rule?.apiGroups, rule?.resources, rule?.nonResourceURLs].map((list) => list ?? []);
  const wide = lists.reduce((sum, list) => sum + (list.includes('*') ? 100 : list.length), 0);
  return wide + (rule?.resourceNames === undefined ? 50 : 0) + (namespace === '' ? 50 : 0);
}

function explained(near: NearBinding, request: AuthorizationAttributes): ExplainedBinding {
  const { binding, namespace, lacks } = near;
  const { roleRef } = binding;
  return {
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    ...(namespace === '' ? {} : { namespace }),
    name: binding.metadata.name ?? '',
    role: `${roleRef.kind} ${roleRef.name}`,
    lacks,
    text: lacks.map((lack) => sentences[lack](near, request)).join('; '),
  };
}

const sentences: Readonly<Record<Lack, (near: NearBinding, request: AuthorizationAttributes) => string>> = {
  subjects: ({ binding }, { user }) => `it is for ${subjectsOf(binding)}, not for ${user.name}`,
  namespace: ({ namespace }, { namespace: requested }) =>
    `it is for the namespace ${namespace}, not for ${requested === '' ? 'the cluster' : requested}`,
  role: ({ binding }) => `its role ${binding.roleRef.kind} ${binding.roleRef.name} does not exist`,
  verbs: ({ rule }, { verb }) => `its role allows ${listed(rule?.verbs)}, not ${verb}`,
  apiGroups: ({ rule }, { group }) =>
    `its role is for the API groups ${listed(rule?.apiGroups)}, not for ${quoted(group)}`,
  resources: ({ rule }, { resource, subresource }) =>
    `its role is for ${listed(rule?.resources)}, not for ${subresource === '' ? resource : `${resource}/${subresource}`}`,
  resourceNames: ({ rule }, { name }) =>
    `its role is for the names ${listed(rule?.resourceNames)}, not for ${name === '' ? 'all names' : name}`,
  nonResourceURLs: ({ rule }, { path }) =>
    `its role is for the paths ${listed(rule?.nonResourceURLs)}, not for ${path}`,
};

/** Limit of the values that a sentence lists. */
const maxListed = 8;

function listed(values: readonly string[] = []): string {
  const more = values.length - maxListed;
  const shown = values.slice(0, maxListed).map(quoted).join(', ');
  if (more > 0) return `${shown} and ${more} more`;
  return shown === '' ? 'nothing' : shown;
}

/** The core group has an empty name. */
const quoted = (text: string): string => (text === '' ? '""' : text);

function subjectsOf({ subjects = [] }: NearBinding['binding']): string {
  return listed(
    subjects.map(({ kind, namespace, name }) =>
      kind === 'ServiceAccount' ? `${kind} ${namespace ?? ''}/${name}` : `${kind} ${name}`,
    ),
  );
}
