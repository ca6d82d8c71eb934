/** `create role`, `clusterrole`, `rolebinding` and `clusterrolebinding`. */
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { builderCommand, dialectOf, newMetadata } from '#cmd/orchctl/commands/create/builder.js';
import { isOrdinaryVerb, rulesOf } from '#cmd/orchctl/commands/create/rules.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

const ruleOptions = {
  verb: { type: 'strings', section: 'Rights', meaning: 'What is allowed, such as get,list,watch.' },
  resource: {
    type: 'strings',
    section: 'Rights',
    meaning: 'Types of the objects, such as pods,deployments.apps,pods/log.',
  },
  'resource-name': {
    type: 'stringArray',
    section: 'Rights',
    meaning: 'Name of an object that the rights are limited to; may be repeated.',
  },
} as const satisfies OptionTable;

const subjectOptions = {
  user: { type: 'stringArray', section: 'Subjects', meaning: 'User who gets the role; may be repeated.' },
  group: { type: 'stringArray', section: 'Subjects', meaning: 'Group that gets the role; may be repeated.' },
  serviceaccount: {
    type: 'stringArray',
    section: 'Subjects',
    meaning: 'Service account that gets the role, as NAMESPACE:NAME; may be repeated.',
  },
} as const satisfies OptionTable;

export const role = builderCommand({
  name: 'role',
  usage: 'NAME --verb VERB,… --resource TYPE,… [--resource-name NAME…]',
  summary: 'Create a role with one rule',
  examples: ['orchctl create role reader --verb=get,list,watch --resource=pods,pods/log'],
  options: ruleOptions,
  async build(invocation, name) {
    const { values } = invocation;
    if (values.strings('verb').length === 0) throw new CommandError('at least one verb must be specified');
    const rules = await resourceRules(invocation, 'at least one resource must be specified');
    const { apiVersion } = await dialectOf(invocation);
    return { kind: 'Role', apiVersion: apiVersion('rbac', 'v1'), metadata: newMetadata(name), rules } as ApiObject;
  },
});

export const clusterrole = builderCommand({
  name: 'clusterrole',
  usage: 'NAME --verb VERB,… (--resource TYPE,… | --non-resource-url PATH,…) | --aggregation-rule LABELS',
  summary: 'Create a cluster role',
  examples: [
    'orchctl create clusterrole reader --verb=get,list --resource=nodes',
    'orchctl create clusterrole checker --verb=get --non-resource-url=/healthz',
  ],
  options: {
    ...ruleOptions,
    'non-resource-url': { type: 'strings', section: 'Rights', meaning: 'Paths such as /healthz or /logs/*.' },
    'aggregation-rule': {
      type: 'map',
      section: 'Rights',
      meaning: 'Labels of the cluster roles whose rules this one joins.',
    },
  },
  async build(invocation, name) {
    const { values } = invocation;
    const { apiVersion } = await dialectOf(invocation);
    const base = { kind: 'ClusterRole', apiVersion: apiVersion('rbac', 'v1'), metadata: newMetadata(name) };
    const urls = [...new Set(values.strings('non-resource-url'))];
    const [verbs, resources, names] = ['verb', 'resource', 'resource-name'].map((option) => values.strings(option)) as [
      readonly string[],
      readonly string[],
      readonly string[],
    ];
    if (values.isSet('aggregation-rule')) {
      if (urls.length + verbs.length + resources.length + names.length > 0) {
        throw new CommandError(
          'aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames',
        );
      }
      const clusterRoleSelectors = [{ matchLabels: values.map('aggregation-rule') }];
      return { ...base, rules: null, aggregationRule: { clusterRoleSelectors } } as ApiObject;
    }
    if (verbs.length === 0) throw new CommandError('at least one verb must be specified');
    if (resources.length === 0 && urls.length === 0) {
      throw new CommandError('one of resource or nonResourceURL must be specified');
    }
    const rules = resources.length === 0 ? [] : await resourceRules(invocation, '');
    for (const url of urls) checkURL(url, verbs);
    const paths = urls.length === 0 ? [] : [{ verbs: distinctVerbs(verbs), nonResourceURLs: urls }];
    return { ...base, rules: [...rules, ...paths] } as ApiObject;
  },
});

const pathVerbs = ['get', 'put', 'post', 'head', 'options', 'delete', 'patch', '*'];

function checkURL(url: string, verbs: readonly string[]): void {
  const wrong = verbs.find((verb) => !pathVerbs.includes(verb));
  if (wrong !== undefined) throw new CommandError(`invalid verb: '${wrong}' for nonResourceURL`);
  if (url === '*') return;
  if (!url.startsWith('/')) throw new CommandError('nonResourceURL should start with /');
  if (url.slice(0, -1).includes('*')) {
    throw new CommandError("nonResourceURL only supports wildcard matches when '*' is at the end");
  }
}

function distinctVerbs(verbs: readonly string[]): string[] {
  return verbs.includes('*') ? ['*'] : [...new Set(verbs)];
}

async function resourceRules(invocation: Invocation, missing: string): Promise<object[]> {
  const { api, err, values } = invocation;
  const verbs = distinctVerbs(values.strings('verb'));
  for (const verb of verbs) {
    if (!isOrdinaryVerb(verb)) err.write(`Warning: '${verb}' is not a standard resource verb\n`);
  }
  const resources = values.strings('resource');
  if (resources.length === 0) throw new CommandError(missing);
  const names = [...new Set(values.strings('resource-name'))];
  return rulesOf(await api.catalog(), { verbs, resources, names });
}

export const rolebinding = builderCommand({
  name: 'rolebinding',
  usage: 'NAME (--role NAME | --clusterrole NAME) [--user NAME…] [--group NAME…] [--serviceaccount NAMESPACE:NAME…]',
  summary: 'Give subjects a role in a namespace',
  examples: ['orchctl create rolebinding readers --role=reader --user=jane'],
  failure: 'failed to create rolebinding: ',
  options: {
    ...subjectOptions,
    role: { type: 'string', section: 'Rights', meaning: 'The role of the namespace.' },
    clusterrole: { type: 'string', section: 'Rights', meaning: 'The cluster role.' },
  },
  async build(invocation, name) {
    const { values } = invocation;
    const own = values.string('role') ?? '';
    const shared = values.string('clusterrole') ?? '';
    if ((own === '') === (shared === '')) {
      throw new CommandError('exactly one of clusterrole or role must be specified');
    }
    return binding(invocation, 'RoleBinding', name, own === '' ? ['ClusterRole', shared] : ['Role', own]);
  },
});

export const clusterrolebinding = builderCommand({
  name: 'clusterrolebinding',
  usage: 'NAME --clusterrole NAME [--user NAME…] [--group NAME…] [--serviceaccount NAMESPACE:NAME…]',
  summary: 'Give subjects a cluster role in the whole cluster',
  examples: ['orchctl create clusterrolebinding admins --clusterrole=cluster-admin --group=admins'],
  failure: 'failed to create clusterrolebinding: ',
  options: { ...subjectOptions, clusterrole: { type: 'string', section: 'Rights', meaning: 'The cluster role.' } },
  build(invocation, name) {
    if (!invocation.values.isSet('clusterrole')) throw new CommandError('required flag(s) "clusterrole" not set');
    const roleName = invocation.values.string('clusterrole') ?? '';
    return binding(invocation, 'ClusterRoleBinding', name, ['ClusterRole', roleName]);
  },
});

async function binding(
  invocation: Invocation,
  kind: string,
  name: string,
  [roleKind, roleName]: readonly [string, string],
): Promise<ApiObject> {
  const { values } = invocation;
  const { apiVersion, groupName } = await dialectOf(invocation);
  const apiGroup = groupName('rbac');
  const subjects = [
    ...values.strings('user').map((each) => ({ kind: 'User', apiGroup, name: each })),
    ...values.strings('group').map((each) => ({ kind: 'Group', apiGroup, name: each })),
    ...values.strings('serviceaccount').map((text) => {
      const [namespace = '', account = '', more] = text.split(':');
      if (namespace === '' || account === '' || more !== undefined) {
        throw new CommandError('serviceaccount must be <namespace>:<name>');
      }
      return { kind: 'ServiceAccount', name: account, namespace };
    }),
  ];
  return {
    kind,
    apiVersion: apiVersion('rbac', 'v1'),
    metadata: newMetadata(name),
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: { apiGroup, kind: roleKind, name: roleName },
  } as ApiObject;
}
