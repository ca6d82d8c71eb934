/** Specification 1, 1, 4.1, 4.2 and 9: paths, verbs and parameters. */
import t from 'tap';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  applyPatch,
  configMap,
  configMaps,
  jsonPatch,
  mergePatch,
  namesOf,
  startSpec,
  strategicPatch,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const labels = { app: 'd' };
const deployments = '/apis/apps/v1/namespaces/web/deployments';
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
};
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const notServed = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'the server does not allow this method on the requested resource',
  reason: 'MethodNotAllowed',
  details: {},
  code: 405,
};

t.test('addressing', withEtcd, async (t) => {
  const requests: AuthorizationAttributes[] = [];
  const { client } = await startSpec(t, {
    dependencies: {
      authorizer: {
        mode: 'Test',
        authorize: async (attributes) => {
          requests.push(attributes);
          return { decision: 'allow', reason: '' };
        },
      },
    },
  });
  const verb = () => requests.at(-1)?.verb;
  for (const name of ['web', 'db']) await client.make('/api/v1/namespaces', namespace(name));
  for (const where of ['web', 'db']) await client.make(configMaps(where), configMap('shared'));
  await client.make('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
  await client.make(deployments, deployment);

  await covers(
    t,
    [
      '4.1 cluster collection',
      '4.1 cluster object',
      '4.1 namespaced collection',
      '4.1 namespaced object',
      '4.1 cluster subresource',
      '4.1 namespaced subresource',
      '4.1 namespaces',
      '4.1 namespace',
      '9.1',
    ],
    'every form of path',
    async (t) => {
      const rows: [string, object, string][] = [
        ['/api/v1/nodes', { kind: 'NodeList', items: [{ metadata: { name: 'n1' } }] }, 'list'],
        ['/api/v1/nodes/n1', { kind: 'Node' }, 'get'],
        ['/api/v1/nodes/n1/status', { kind: 'Node' }, 'get'],
        ['/api/v1/configmaps', { kind: 'ConfigMapList', items: [{}, {}] }, 'list'],
        ['/api/v1/namespaces/web/configmaps', { kind: 'ConfigMapList', items: [{}] }, 'list'],
        ['/api/v1/namespaces/web/configmaps/shared', { kind: 'ConfigMap' }, 'get'],
        ['/apis/apps/v1/deployments', { kind: 'DeploymentList', apiVersion: 'apps/v1' }, 'list'],
        [deployments, { kind: 'DeploymentList', items: [{}] }, 'list'],
        [`${deployments}/d`, { kind: 'Deployment', apiVersion: 'apps/v1' }, 'get'],
        [`${deployments}/d/scale`, { kind: 'Scale', apiVersion: 'autoscaling/v1' }, 'get'],
        ['/api/v1/namespaces', { kind: 'NamespaceList', items: [{}, {}] }, 'list'],
        ['/api/v1/namespaces/web', { kind: 'Namespace', metadata: { name: 'web' } }, 'get'],
        ['/api/v1/namespaces/web/status', { kind: 'Namespace' }, 'get'],
      ];
      for (const [url, answer, expected] of rows) {
        const { status, json } = await client.get(url);
        t.equal(status, 200, url);
        t.match(json, answer, url);
        t.equal(verb(), expected, url);
      }
      const unknown = [
        '/api/v1/nothings',
        '/api/v9/pods',
        '/apis/apps/v1/pods',
        '/api/v1/configmaps/shared',
        '/api/v1/namespaces/web/nodes',
        `${deployments}/d/nothing`,
      ];
      for (const url of unknown) t.match((await client.get(url)).json, { code: 404, reason: 'NotFound' }, url);
      // Outside of the server's own groups, as in 1.24.
      t.match(await client.get('/apis/none.example/v1/things'), { status: 404, text: '404 page not found\n' });
      const unusable: [string, string][] = [
        ['..', `Name parameter invalid: "..": may not be '..'`],
        ['a%25b', `Name parameter invalid: "a%b": may not contain '%'`],
      ];
      for (const [name, message] of unusable)
        for (const [method, options] of [
          ['GET', {}],
          ['PATCH', { body: {}, headers: mergePatch }],
          ['DELETE', {}],
        ] as const) {
          const { json } = await client.ask(method, `${configMaps('web')}/${name}`, options);
          t.match(json, { code: 400, reason: 'BadRequest', message }, `${method} ${name}`);
        }
      // An encoded slash makes the path longer, and such a path is not served.
      for (const path of [
        `${configMaps('web')}/a%2Fb`,
        '/api/v1/watch/namespaces/a%2Fb',
        '/api/v1/namespaces/a%2Fb?watch=1',
      ])
        t.match((await client.get(path)).json, { code: 404, reason: 'NotFound', details: {} }, path);
      t.same((await client.get('/api/v1/nothings')).json, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'the server could not find the requested resource',
        reason: 'NotFound',
        details: {},
        code: 404,
      });
    },
  );

  await covers(t, ['1 verbs', '4.1.1', '4.1.2'], 'methods map to verbs', async (t) => {
    const path = configMaps('verbs');
    const rows: [string, string, unknown, Record<string, string>, number, string][] = [
      ['POST', path, configMap('a'), {}, 201, 'create'],
      ['GET', `${path}/a`, undefined, {}, 200, 'get'],
      ['HEAD', `${path}/a`, undefined, {}, 200, 'get'],
      ['PUT', `${path}/a`, configMap('a', { x: '1' }), {}, 200, 'update'],
      ['PATCH', `${path}/a`, {}, mergePatch, 200, 'patch'],
      ['GET', path, undefined, {}, 200, 'list'],
      ['DELETE', `${path}/a`, undefined, {}, 200, 'delete'],
      ['DELETE', path, undefined, {}, 200, 'deletecollection'],
    ];
    for (const [method, url, body, headers, status, expected] of rows) {
      const answer = await client.ask(method, url, { body, headers });
      t.equal(answer.status, status, `${method} ${url}: ${answer.text}`);
      t.equal(verb(), expected, `${method} ${url}`);
    }
    const refused: [string, string][] = [
      ['PUT', path],
      ['PATCH', path],
      ['POST', `${path}/a`],
      ['POST', '/api/v1/configmaps'],
      ['DELETE', '/api/v1/configmaps'],
      ['DELETE', '/api/v1/namespaces'],
      ['POST', `${deployments}/d/scale`],
    ];
    for (const [method, url] of refused) {
      const { json } = await client.ask(method, url, { body: configMap('a'), headers: mergePatch });
      t.same(json, notServed, `${method} ${url}`);
    }
    const missing = await client.put(`${path}/none`, configMap('none'));
    t.match(missing.json, { code: 404, message: 'configmaps "none" not found' }, 'no PUT creates config maps');
    const leases = '/apis/coordination.k8s.io/v1/namespaces/web/leases';
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' } };
    t.equal((await client.put(`${leases}/l`, lease)).status, 201, 'but leases');
    t.equal(verb(), 'create', 'this requires the right to create');
    const { json: created } = await client.get(`${leases}/l`);
    t.equal((await client.put(`${leases}/l`, { ...created, spec: { holderIdentity: 'x' } })).status, 200);
    t.equal(verb(), 'update');
    await client.delete(`${leases}/l`);
    const gone = {
      code: 409,
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on leases.coordination.k8s.io "l": uid mismatch: the provided object specified uid ${created.metadata.uid}, and no existing object was found`,
    };
    t.match((await client.put(`${leases}/l`, created)).json, gone, 'a removed object is not replaced by another');
    const { uid, resourceVersion, name } = created.metadata;
    const named = { ...lease, metadata: { name, uid } };
    t.match((await client.patch(`${leases}/l?fieldManager=m`, applyPatch, named)).json, gone);
    t.equal((await client.put(`${leases}/l`, { ...lease, metadata: { name, resourceVersion } })).status, 201);
  });

  await covers(t, ['4.1.2'], 'the object of a PUT must match its path', async (t) => {
    const path = configMaps('identity');
    await client.make(path, configMap('a'));
    const rows: [object, string][] = [
      [configMap('b'), 'the name of the object (b) does not match the name on the URL (a)'],
      [
        { kind: 'ConfigMap', apiVersion: 'v1', metadata: {} },
        'the name of the object (a based on URL) was undeterminable: name must be provided',
      ],
      [
        configMap('a', {}, { namespace: 'other' }),
        'the namespace of the provided object does not match the namespace sent on the request',
      ],
      [
        { kind: 'ConfigMap', apiVersion: 'v2', metadata: { name: 'a' } },
        'no kind "ConfigMap" is registered for version "v2"',
      ],
    ];
    for (const [body, message] of rows) {
      t.match((await client.put(`${path}/a`, body)).json, { code: 400, reason: 'BadRequest', message });
    }
    const stale = configMap('a', {}, { resourceVersion: '1' });
    t.same((await client.put(`${path}/a`, stale)).json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the ' +
        'latest version and try again',
      reason: 'Conflict',
      details: { name: 'a', kind: 'configmaps' },
      code: 409,
    });
    const other = await client.put(`${path}/a`, configMap('a', {}, { uid: 'other' }));
    t.match(other.json, {
      code: 409,
      message:
        /^Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: .*\/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: /,
    });
    t.equal((await client.put(`${path}/a`, configMap('a', { n: '1' }))).status, 200, 'without a version it overwrites');
  });

  await covers(t, ['4.1.3', '4.2 watch', '4.2 allowWatchBookmarks'], 'watch makes a GET a watch', async (t) => {
    for (const value of ['1', 'true', 'yes', '']) {
      const { json, text } = await client.get(`${configMaps('web')}?watch=${value}&timeoutSeconds=1`);
      t.match(json ?? JSON.parse(text), { type: 'ADDED' }, `watch=${value}`);
      t.equal(verb(), 'watch');
    }
    for (const value of ['0', 'false', 'False']) {
      t.match((await client.get(`${configMaps('web')}?watch=${value}`)).json, { kind: 'ConfigMapList' });
      t.equal(verb(), 'list');
    }
    const marked = await client.get(`${configMaps('none')}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true`);
    t.match(marked.text, /^(\{"type":"BOOKMARK"|$)/);
  });

  await covers(t, ['1 subresources', '4.1.4'], 'subresources', async (t) => {
    await client.get(`${deployments}/d/scale`);
    t.match(requests.at(-1), {
      verb: 'get',
      resource: 'deployments',
      subresource: 'scale',
      namespace: 'web',
      name: 'd',
    });
    // An empty name is no address.
    t.equal((await client.get('/apis/apps/v1/namespaces/web/deployments//scale')).status, 404, 'not of all');
    const put = { ...(await client.get(`${deployments}/d/scale`)).json, spec: { replicas: 4 } };
    t.equal((await client.put(`${deployments}/d/scale`, put)).json.spec.replicas, 4);
    t.equal((await client.delete(`${deployments}/d/status`)).status, 405);
    const expected = { status: { replicas: 2 }, spec: { replicas: 9 } };
    const changed = (await client.patch(`${deployments}/d/status`, mergePatch, expected)).json;
    t.equal(changed.status.replicas, 2);
    t.equal(changed.spec.replicas, 4, 'the rest is out of its reach');
  });

  await covers(t, ['4.1.5', '4.2 force'], 'server-side apply', async (t) => {
    const url = `${configMaps('applied')}/a`;
    const apply = (manager: string, data: Record<string, string>, more = '') =>
      client.patch(`${url}?fieldManager=${manager}${more}`, applyPatch, configMap('a', data));
    const created = await apply('one', { x: '1', y: '1' });
    t.equal(created.status, 201);
    t.equal(requests.at(-1)?.verb, 'create', 'a new object requires the right to create it');
    t.equal((await apply('one', { x: '1', y: '2' })).status, 200);
    const conflict = await apply('two', { x: '2' });
    t.same(conflict.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.x',
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.x' }] },
      code: 409,
    });
    t.equal((await apply('two', { x: '1' })).status, 200, 'the same value is shared');
    const forced = await apply('two', { x: '2' }, '&force=true');
    t.equal(forced.json.data.x, '2');
    const released = await apply('one', {});
    t.same(released.json.data, { x: '2' }, 'unowned fields are removed');
    const messages: [string, object, Record<string, string>, string][] = [
      ['', configMap('a'), applyPatch, 'fieldManager: Required value: is required for apply patch'],
      ['?force=true', {}, mergePatch, 'force: Forbidden: may not be specified for non-apply patch'],
      [`?fieldManager=${'m'.repeat(129)}`, {}, mergePatch, 'fieldManager: Too long: must have at most 128 bytes'],
      [
        '?fieldManager=%07',
        {},
        mergePatch,
        'fieldManager: Invalid value: "\\a": invalid character U+0007 (at position 0)',
      ],
      [
        '?fieldValidation=Maybe',
        {},
        mergePatch,
        'fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
      ],
    ];
    for (const [query, body, headers, message] of messages) {
      const { json } = await client.patch(url + query, headers, body);
      t.match(json, { code: 422, reason: 'Invalid', message: `PatchOptions.meta.k8s.io "" is invalid: ${message}` });
    }
  });

  await covers(t, ['4.1.6'], 'patches', async (t) => {
    const url = `${configMaps('patched')}/a`;
    await client.make(configMaps('patched'), configMap('a', { x: '1' }));
    t.same((await client.patch(url, mergePatch, { data: { x: null, y: '2' } })).json.data, { y: '2' });
    t.same((await client.patch(url, strategicPatch, { data: { z: '3' } })).json.data, { y: '2', z: '3' });
    t.same((await client.patch(url, jsonPatch, [{ op: 'remove', path: '/data/y' }])).json.data, { z: '3' });
    t.equal(
      (await client.patch(url, { 'content-type': 'application/merge-patch+json; charset=utf-8' }, {})).status,
      200,
    );
    const types =
      'application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml';
    t.match((await client.patch(url, { 'content-type': 'application/json' }, {})).json, {
      code: 415,
      reason: 'UnsupportedMediaType',
      message: `the body of the request was in an unknown format - accepted media types include: ${types}`,
    });
    const failed = await client.patch(url, jsonPatch, [{ op: 'test', path: '/data/z', value: 'other' }]);
    t.match(failed.json, {
      code: 422,
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' }));
    t.match((await client.patch(url, jsonPatch, many)).json, {
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    });
    t.match((await client.patch(url, mergePatch, '{')).json, {
      code: 400,
      reason: 'BadRequest',
      message: 'Invalid JSON Patch',
    });
    t.match((await client.patch(url, mergePatch, { data: 7 })).json, {
      code: 422,
      reason: 'Invalid',
      message: /^ "" is invalid: patch: Invalid value: /,
      details: { causes: [{ reason: 'FieldValueInvalid', field: 'patch' }] },
    });
    t.equal((await client.patch(url, mergePatch, { metadata: { name: 'b' } })).status, 400);
    const stale = await client.patch(url, mergePatch, { metadata: { resourceVersion: '1' }, data: { q: '1' } });
    t.equal(stale.json.reason, 'Conflict', 'a version in the patch is a condition');
  });

  await covers(
    t,
    ['4.2 resourceVersion', '4.2 resourceVersionMatch', '4.2 limit', '4.2 continue', '4.2 dryRun', '4.2 pretty', '9.3'],
    'parameters',
    async (t) => {
      const path = configMaps('parameters');
      for (const name of ['a', 'b', 'c']) await client.make(path, configMap(name));
      const first = (await client.get(`${path}?limit=2`)).json;
      t.same(namesOf((await client.get(`${path}?limit=2&continue=${first.metadata.continue}`)).json), ['c']);
      const { resourceVersion } = first.metadata;
      await client.delete(`${path}/a`);
      const exact = await client.get(`${path}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
      t.same(namesOf(exact.json), ['a', 'b', 'c']);
      t.equal((await client.post(`${path}?dryRun=All`, configMap('d'))).status, 201);
      t.equal((await client.get(`${path}/d`)).status, 404);
      for (const [value, indented] of [
        ['true', true],
        ['1', true],
        ['false', false],
        ['0', false],
        ['perhaps', false],
      ] as const) {
        for (const url of [path, `${path}/b`, `${path}/none`]) {
          t.equal(/^\{\n {2}"/.test((await client.get(`${url}?pretty=${value}`)).text), indented, `${url} ${value}`);
        }
      }
      const curl = { 'user-agent': 'curl/8.0' };
      t.match((await client.get(`${path}/b`, curl)).text, /^\{\n/, 'browsers and curl get it by default');
      t.match((await client.get(`${path}/b?pretty=false`, curl)).text, /^\{"/, 'unless it is disabled');
    },
  );

  await covers(t, ['9.2', '9.4'], 'versions', async (t) => {
    t.match((await client.get('/version')).json, { major: '1', minor: '24', gitVersion: /^v1\.24\./ });
    t.match((await client.get('/apis/events.k8s.io/v1')).json.resources, [{ name: 'events', kind: 'Event' }]);
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    t.equal((await client.get('/api/v1/nodes', { accept })).json.apiVersion, 'meta.k8s.io/v1');
  });
});
