/** Random accounts with roles and bindings. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Account } from '#test/fuzz/access/policy.js';
import type { Dice } from '#test/fuzz/access/random.js';
import { dialect, namespaces, nodeNames, objectNames, table, type World } from '#test/fuzz/access/world.js';

const rbac = dialect.groupName('rbac');
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const names = [...objectNames, ...namespaces, ...nodeNames, 'strong', 'weak', 'gathered'];

/** Creates roles and bindings for the accounts of this round, with unique names. */
export async function giveRights(world: World, dice: Dice, round: number): Promise<Account[]> {
  const { authenticated, nodes, serviceAccounts } = dialect.groups;
  const people = Array.from({ length: 4 }, (_, i) => `person-${round}-${i}`);
  const group = `group-${round}`;
  for (const [i, name] of people.entries()) {
    const subject = dice.chance(0.8)
      ? { kind: 'User', apiGroup: rbac, name }
      : { kind: 'Group', apiGroup: rbac, name: group };
    for (let k = 0; k <= dice.below(3); k += 1) await giveRole(world, dice, `round-${round}-${i}-${k}`, subject);
  }
  const account = { kind: 'ServiceAccount', namespace: 'tenant', name: 'mine' };
  await giveRole(world, dice, `round-${round}-account`, account);
  return [
    ...people.map((name) => ({ name, groups: [...(dice.chance(0.5) ? [group] : []), authenticated] })),
    ...nodeNames.map((name) => ({ name: `system:node:${name}`, groups: [nodes, authenticated] })),
    {
      name: 'system:serviceaccount:tenant:mine',
      groups: [serviceAccounts, `${serviceAccounts}:tenant`, authenticated],
    },
  ];
}

export async function takeRights(world: World): Promise<void> {
  for (const key of [...world.state.keys()]) {
    const [resource = '', ...rest] = key.split('/');
    const kind = table.find((each) => each.resource === resource);
    if (kind?.group !== rbac || rest.at(-1)?.startsWith('round-') !== true) continue;
    const where = kind.namespaced ? `namespaces/${rest[0]}/` : '';
    await world.ask('DELETE', `/apis/${kind.group}/${kind.version}/${where}${resource}/${rest.at(-1)}`);
  }
  await world.changes();
}

async function giveRole(world: World, dice: Dice, name: string, subject: object): Promise<void> {
  const rules = Array.from({ length: 1 + dice.below(3) }, () => randomRule(dice));
  if (dice.chance(0.15)) rules.push(ownsAll);
  const local = dice.chance(0.3);
  const where = !local && dice.chance(0.4) ? 'everywhere' : 'tenant';
  await giveRules(world, name, subject, { rules, where, local });
}

export interface Given {
  readonly rules: readonly PolicyRule[];
  readonly where: 'tenant' | 'everywhere';
  /** Through a role of the namespace. */
  readonly local?: boolean;
}

/** Creates a role and a binding with that name. */
export async function giveRules(world: World, name: string, subject: object, given: Given): Promise<void> {
  const { rules, where, local = false } = given;
  const namespace = 'tenant';
  // A Role cannot contain URLs.
  const fitting = where === 'everywhere' ? rules : rules.filter(({ nonResourceURLs }) => nonResourceURLs === undefined);
  await world.make(local ? 'roles' : 'clusterroles', namespace, { metadata: { name }, rules: fitting });
  const roleRef = { apiGroup: rbac, kind: local ? 'Role' : 'ClusterRole', name };
  const binding = { metadata: { name }, subjects: [subject], roleRef };
  await world.make(where === 'everywhere' ? 'clusterrolebindings' : 'rolebindings', namespace, binding);
}

const certificates = dialect.groupName('certificates');

const ownsAll: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };

/** Typical rights in practice, some of which include more than they seem to. */
const usual: readonly PolicyRule[] = [
  ownsAll,
  { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] },
  { verbs: ['get', 'watch'], apiGroups: ['*'], resources: ['*'], resourceNames: ['mine'] },
  { verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['get', 'patch', 'update'], apiGroups: [rbac], resources: ['clusterroles', 'roles'] },
  { verbs: ['*'], apiGroups: [rbac], resources: ['*'] },
  { verbs: ['bind'], apiGroups: [rbac], resources: ['clusterroles'], resourceNames: ['weak'] },
  { verbs: ['escalate'], apiGroups: [rbac], resources: ['roles'] },
  { verbs: ['create'], apiGroups: [''], resources: ['pods/exec', 'pods/attach', 'pods/portforward'] },
  { verbs: ['get'], apiGroups: [''], resources: ['pods/log', 'pods/exec', 'nodes/proxy'] },
  { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction', 'pods/binding', 'serviceaccounts/token'] },
  { verbs: ['get', 'update', 'patch'], apiGroups: ['*'], resources: ['*/status'] },
  { verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'] },
  { verbs: ['impersonate'], apiGroups: [''], resources: ['serviceaccounts'], resourceNames: ['mine'] },
  { verbs: ['update'], apiGroups: [certificates], resources: ['certificatesigningrequests/approval'] },
  { verbs: ['approve', 'sign'], apiGroups: [certificates], resources: ['signers'] },
  { verbs: ['get'], nonResourceURLs: ['/metrics', '/healthz*', '/livez/'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function randomRule(dice: Dice): PolicyRule {
  if (dice.chance(0.5)) return dice.one(usual);
  const chosen = dice.some(table);
  const resources = chosen.flatMap(({ resource, subresources }) =>
    dice.chance(0.6) || subresources.length === 0 ? [resource] : [`${resource}/${dice.one(subresources)}`],
  );
  return {
    verbs: dice.chance(0.2) ? ['*'] : dice.some(verbs, 5),
    apiGroups: dice.chance(0.3) ? ['*'] : chosen.map(({ group }) => group),
    resources: dice.chance(0.1) ? ['*'] : resources,
    ...(dice.chance(0.3) ? { resourceNames: dice.some(names) } : {}),
  };
}
