/** The rules of new roles: one for each group of the types. Pure. */
import type { ResourceCatalog } from '#cmd/orchctl/api/resources.js';
import { CommandError, PlainError } from '#cmd/orchctl/terminal/errors.js';

const ordinaryVerbs = new Set([
  ...['*', 'get', 'delete', 'list', 'create', 'update', 'patch', 'watch', 'proxy', 'deletecollection'],
  ...['use', 'bind', 'escalate', 'impersonate'],
]);

export function isOrdinaryVerb(verb: string): boolean {
  return ordinaryVerbs.has(verb);
}

interface NamedType {
  readonly group: string;
  readonly resource: string;
}

/** The types that some verbs are for. */
function typesOfVerb(verb: string, { dialect }: ResourceCatalog): readonly NamedType[] | undefined {
  const rbac = dialect.groupName('rbac');
  const roles = ['roles', 'clusterroles'].map((resource) => ({ group: rbac, resource }));
  if (verb === 'bind' || verb === 'escalate') return roles;
  if (verb === 'use') return ['policy', 'extensions'].map((group) => ({ group, resource: 'podsecuritypolicies' }));
  if (verb === 'impersonate') {
    const plain = ['users', 'serviceaccounts', 'groups'].map((resource) => ({ group: '', resource }));
    return [...plain, { group: dialect.groupName('authentication'), resource: 'userextras' }];
  }
  return undefined;
}

export interface RuleParts {
  readonly verbs: readonly string[];
  /** `deployments.apps/scale`. */
  readonly resources: readonly string[];
  readonly names: readonly string[];
}

/** Throws a CommandError for types that the server does not have. */
export function rulesOf(catalog: ResourceCatalog, { verbs, resources, names }: RuleParts): object[] {
  const byGroup = new Map<string, string[]>();
  for (const text of resources.includes('*') ? ['*'] : resources) {
    const { type, subresource } = typeOf(catalog, text, verbs);
    const resource = `${type.resource}${subresource === '' ? '' : `/${subresource}`}`;
    const present = byGroup.get(type.group) ?? [];
    if (!present.includes(resource)) byGroup.set(type.group, [...present, resource]);
  }
  return [...byGroup]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, types]) => ({
      verbs,
      apiGroups: [group],
      resources: types,
      ...(names.length === 0 ? {} : { resourceNames: names }),
    }));
}

function typeOf(catalog: ResourceCatalog, text: string, verbs: readonly string[]) {
  const slash = text.indexOf('/');
  const subresource = slash < 0 ? '' : text.slice(slash + 1);
  const name = slash < 0 ? text : text.slice(0, slash);
  const dot = name.indexOf('.');
  const written: NamedType = {
    resource: dot < 0 ? name : name.slice(0, dot),
    group: dot < 0 ? '' : name.slice(dot + 1),
  };
  if (written.resource === '') {
    throw new CommandError('resource must be specified if apiGroup/subresource specified');
  }
  if (written.resource === '*') return { type: written, subresource };
  const served = catalog.all.find(
    ({ group, resource, shortNames, singular }) =>
      (resource === written.resource || singular === written.resource || shortNames.includes(written.resource)) &&
      (written.group === '' || group === written.group || group.startsWith(`${written.group}.`)),
  );
  const type: NamedType = served ?? written;
  let isSpecial = false;
  for (const verb of verbs) {
    const special = typesOfVerb(verb, catalog);
    if (special === undefined) continue;
    if (!special.some(({ group, resource }) => group === type.group && resource === type.resource)) {
      throw new CommandError(`can not perform '${verb}' on '${type.resource}' in group '${type.group}'`);
    }
    isSpecial = true;
  }
  if (served === undefined && !isSpecial) {
    const place = written.group === '' ? '' : ` in group ${JSON.stringify(written.group)}`;
    throw new PlainError(`the server doesn't have a resource type ${JSON.stringify(written.resource)}${place}`);
  }
  return { type, subresource };
}
