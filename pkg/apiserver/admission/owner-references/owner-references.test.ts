import t from 'tap';
import { configmaps, pods } from '#api/core/v1/resources.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { AdmissionScope } from '#apiserver/admission/admission.js';
import { OwnerReferencesPermissionEnforcement } from '#apiserver/admission/owner-references/owner-references.js';
import { RestMapper } from '#apiserver/admission/owner-references/rest-mapper.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import type { Client } from '#client/client.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const owner = (apiVersion: string, kind: string, block?: boolean, uid = 'u'): OwnerReference => ({
  ...{ apiVersion, kind, name: 'o', uid },
  ...(block === undefined ? {} : { blockOwnerDeletion: block }),
});
const owned = (...ownerReferences: OwnerReference[]) => ({ metadata: { name: 'c', ownerReferences } });

/** The tables of kinds: pods and nodes of the server itself, widgets of an extension server. */
const declarations = [
  { kind: 'Pod', resource: 'pods', namespaced: true },
  { kind: 'Node', resource: 'nodes', namespaced: false },
];
const resources = {
  of: (group: string, version: string) =>
    group === '' && version === 'v1' ? declarations.map((declaration) => ({ declaration })) : [],
};
const scope = { registry: { resources } } as unknown as AdmissionScope;

/** `rights`: lines such as `update pods/finalizers in ns`, as the authorizer sees requests. */
function setup(...rights: string[]) {
  const checks: string[] = [];
  const paths: string[] = [];
  const client = {
    request: async (_: string, path: string) => {
      paths.push(path);
      if (path !== '/apis/ext.example/v1') throw new Error('not found');
      return {
        resources: [
          null,
          { name: 1 },
          { name: 'widgets/status', kind: 'Widget' },
          { name: 'widgets', kind: 'Widget', namespaced: true },
        ],
      };
    },
  } as unknown as Client;
  const authorizer = {
    mode: 'test',
    authorize({ verb, group, resource, subresource, namespace, name }: AuthorizationAttributes) {
      const what = `${resource}${group === '' ? '' : `.${group}`}${subresource === '' ? '' : `/${subresource}`}`;
      const line = `${verb} ${what} ${name}${namespace === '' ? '' : ` in ${namespace}`}`;
      checks.push(line);
      return { decision: rights.includes(line) ? 'allow' : 'noOpinion', reason: 'why' } as const;
    },
  };
  const clock = new VirtualClock();
  const mapper = new RestMapper({ clock, client: () => client });
  return { plugin: new OwnerReferencesPermissionEnforcement({ dialect, authorizer, mapper }), checks, paths, clock };
}

const refused = (why: string) => `403 configmaps "c" is forbidden: ${why}`;
const noDelete = refused("cannot set an ownerRef on a resource you can't delete: why, <nil>");
const noFinalizers = refused(
  "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: why, <nil>",
);
const any = 'update *.*/finalizers *';
const remove = 'delete configmaps c in ns';

t.test('owners need the right to delete the object, blocked ones that to set their finalizers', async (t) => {
  const pod = (block?: boolean) => owner('v1', 'Pod', block);
  const update = (object: object, oldObject: object) => ({ operation: 'UPDATE', object, oldObject }) as const;
  const noKind = (apiVersion: string, kind: string) =>
    refused(
      `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind "${kind}" in version "${apiVersion}"`,
    );
  const rows: readonly (readonly [name: string, rights: readonly string[], request: object, expected: string])[] = [
    ['create without owners', [], { object: owned() }, 'admitted'],
    ['create with an owner', [], { object: owned(pod()) }, 'admitted'],
    ['create not blocking', [], { object: owned(pod(false)) }, 'admitted'],
    ['create blocking', [], { object: owned(pod(true)) }, noFinalizers],
    ['create blocking, finalizers', ['update pods/finalizers o in ns'], { object: owned(pod(true)) }, 'admitted'],
    ['create blocking, any finalizers', [any], { object: owned(owner('no/v1', 'No', true)) }, 'admitted'],
    ['lower case', ['update pods/finalizers o in ns'], { object: owned(owner('v1', 'pod', true)) }, 'admitted'],
    ['cluster-scoped', ['update nodes/finalizers o'], { object: owned(owner('v1', 'Node', true)) }, 'admitted'],
    ['list kind', ['update podlists/finalizers o in ns'], { object: owned(owner('v1', 'PodList', true)) }, 'admitted'],
    ['any list', ['update lists/finalizers o'], { object: owned(owner('v1', 'List', true)) }, 'admitted'],
    [
      'one of two',
      ['update nodes/finalizers o'],
      { object: owned(owner('v1', 'Node', true), owner('v1', 'Pod', true, 'x')) },
      noFinalizers,
    ],
    [
      'extension',
      ['update widgets.ext.example/finalizers o in ns'],
      { object: owned(owner('ext.example/v1', 'Widget', true)) },
      'admitted',
    ],
    ['extension, no right', [], { object: owned(owner('ext.example/v1', 'Widget', true)) }, noFinalizers],
    ['unknown kind', [], { object: owned(owner('v1', 'No', true)) }, noKind('v1', 'No')],
    ['unknown version', [], { object: owned(owner('v2', 'Pod', true)) }, noKind('v2', 'Pod')],
    ['unknown group', [], { object: owned(owner('no.example/v1', 'No', true)) }, noKind('no.example/v1', 'No')],
    ['update of something else', [], update(owned(pod(true)), owned(pod(true))), 'admitted'],
    ['update adds', [], update(owned(pod()), owned()), noDelete],
    ['update adds, delete', [remove], update(owned(pod()), owned()), 'admitted'],
    ['update removes', [], update(owned(), owned(pod())), noDelete],
    ['update begins to block', [remove], update(owned(pod(true)), owned(pod(false))), noFinalizers],
    [
      'update blocks still',
      [remove],
      update(owned(pod(true), owner('v1', 'Pod', false, 'x')), owned(pod(true))),
      'admitted',
    ],
    ['update stops to block', [remove], update(owned(pod(false)), owned(pod(true))), 'admitted'],
    ['deletion', [], { operation: 'DELETE', oldObject: owned(pod(true)) }, 'admitted'],
  ];
  for (const [name, rights, request, expected] of rows)
    t.equal(await outcomeOf(setup(...rights).plugin, configmaps, { scope, name: 'c', ...request }), expected, name);
});

t.test('writes of a pod’s status need no access check', async (t) => {
  const { plugin, checks } = setup();
  const update = { scope, operation: 'UPDATE', object: owned(owner('v1', 'Pod', true)), oldObject: owned() } as const;
  t.equal(await outcomeOf(plugin, pods, { ...update, subresource: 'status' }), 'admitted', 'the status');
  t.strictSame(checks, [], 'no access check');
});

t.test('kinds of extension servers are kept for half a minute', async (t) => {
  const { plugin, paths, clock } = setup();
  const ask = (group: string) =>
    outcomeOf(plugin, configmaps, { scope, object: owned(owner(`${group}/v1`, 'Widget', true)) });
  await Promise.all([ask('ext.example'), ask('ext.example'), ask('a b?')]);
  t.strictSame(paths.sort(), ['/apis/a%20b%3F/v1', '/apis/ext.example/v1'], 'one request for each version');
  await clock.advance(30_000);
  await ask('ext.example');
  t.equal(paths.length, 3, 'a new request');
});

t.test('an error of the authorizer is part of the refusal', async (t) => {
  const authorizer = {
    mode: 'test',
    authorize: () => ({ decision: 'noOpinion', reason: 'why', error: 'lost' }) as const,
  };
  const mapper = new RestMapper({ clock: new VirtualClock(), client: () => ({}) as Client });
  const plugin = new OwnerReferencesPermissionEnforcement({ dialect, authorizer, mapper });
  const object = owned(owner('v1', 'Pod', true));
  t.equal(await outcomeOf(plugin, configmaps, { scope, name: 'c', object }), noFinalizers.replace('<nil>', 'lost'));
});
