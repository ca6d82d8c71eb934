/** Paths of objects: each object has one path, on which authorization depends. */
import t from 'tap';
import { call, startServer } from '#test/integration/apiserver/server.js';

const notFound = { status: 404, json: { message: 'the server could not find the requested resource' } };

t.test('cluster-wide resources, such as namespaces, have no path below a namespace', async (t) => {
  const server = await startServer(t);
  for (const name of ['tenant', 'victim']) {
    const body = { metadata: { name } };
    t.equal((await call(server, 'POST', '/api/v1/namespaces', { body })).status, 201);
  }
  t.equal((await call(server, 'POST', '/api/v1/nodes', { body: { metadata: { name: 'n' } } })).status, 201);
  const patch = { 'content-type': 'application/merge-patch+json' };
  const requests: readonly [method: string, path: string, body?: unknown][] = [
    ...['victim', 'tenant'].flatMap((name): [string, string, unknown?][] => [
      ['GET', `namespaces/${name}`],
      ['GET', `namespaces/${name}?watch=1&timeoutSeconds=1`],
      ['DELETE', `namespaces/${name}`],
      ['PATCH', `namespaces/${name}`, { metadata: { labels: { a: 'b' } } }],
      ['PUT', `namespaces/${name}`, { metadata: { name } }],
      ['PUT', `namespaces/${name}/finalize`, { metadata: { name }, spec: { finalizers: [] } }],
      ['GET', `namespaces/${name}/status`],
      ['PATCH', `namespaces/${name}/status`, { metadata: { labels: { a: 'b' } } }],
      ['GET', `namespaces?fieldSelector=metadata.name%3D${name}`],
    ]),
    ['GET', 'namespaces'],
    ['GET', 'namespaces/'],
    ['GET', 'namespaces?watch=1&timeoutSeconds=1'],
    ['POST', 'namespaces', { metadata: { name: 'made' } }],
    ['DELETE', 'namespaces'],
    ['GET', 'nodes'],
    ['GET', 'nodes/n'],
    ['PATCH', 'nodes/n/status', {}],
    ['GET', 'persistentvolumes'],
  ];
  for (const [method, path, body] of requests) {
    for (const root of [
      '/api/v1/namespaces/tenant/',
      ...(method === 'GET' ? ['/api/v1/watch/namespaces/tenant/'] : []),
    ]) {
      const answer = await call(server, method, root + path, {
        ...(body === undefined ? {} : { body }),
        ...(method === 'PATCH' ? { headers: patch } : {}),
      });
      t.match(answer, notFound, `${method} ${root}${path}`);
    }
  }
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/tenant/clusterroles';
  t.match(await call(server, 'GET', rbac), notFound);
  const { json } = await call(server, 'GET', '/api/v1/namespaces');
  t.strictSame(
    json.items.map(({ metadata }: { metadata: { name: string; labels: object } }) => [metadata.name, metadata.labels]),
    ['tenant', 'victim'].map((name) => [name, { 'kubernetes.io/metadata.name': name }]),
    'and nothing has happened',
  );
  for (const path of ['victim', 'victim/status', 'victim/', 'victim?watch=1&timeoutSeconds=1'])
    t.equal((await call(server, 'GET', `/api/v1/namespaces/${path}`)).status, 200, path);
  t.equal((await call(server, 'GET', '/api/v1/watch/namespaces/victim?timeoutSeconds=1')).status, 200);
});

t.test('paths with empty or misplaced segments are not served', async (t) => {
  const server = await startServer(t);
  const body = { metadata: { name: 'a' } };
  await call(server, 'POST', '/api/v1/namespaces', { body });
  t.equal((await call(server, 'POST', '/api/v1/namespaces/a/configmaps', { body })).status, 201);
  for (const path of [
    '//api/v1/namespaces/a/configmaps/a',
    '/api//v1/namespaces/a/configmaps/a',
    '/api/v1//namespaces/a/configmaps/a',
    '/api/v1/namespaces//configmaps',
    '/api/v1/namespaces//configmaps/a',
    '/api/v1/namespaces/a//configmaps',
    '/api/v1/namespaces/a/configmaps//a',
    '/apis//v1/namespaces/a/configmaps/a',
    '/apis/v1/namespaces/a/configmaps/a',
    '/api/v1/configmaps/a',
    '/api/v1/configmaps/a?watch=1&timeoutSeconds=1',
    '/api/v1/watch/configmaps/a?timeoutSeconds=1',
    '/api/v1/namespaces/a/configmaps/a/status',
    '/api/v1/namespaces/a/status/more',
    '/api/v1/namespaces/a/pods/a/status/more',
    '/api/v1/namespaces/a/pods//status',
    '/api/v1/watch',
    '/api/v1/watch/watch/configmaps?timeoutSeconds=1',
    '/api/v1/proxy/namespaces/a/configmaps/a',
    '/api/v1/namespaces/a/../a/configmaps/a',
    '/api/v1/./namespaces/a/configmaps/a',
    '/api/v1/namespaces%2Fa%2Fconfigmaps/a',
    '/api/v1/namespaces/a%2Fb/configmaps',
    '/api/v1/namespaces/a%2F..%2Fa/configmaps',
  ]) {
    t.match(await call(server, 'GET', path), { status: 404 }, path);
  }
  for (const name of ['..', '.', '%2e%2e', '%2E', 'a%25']) {
    const expected = { status: 400, json: { message: /^Name parameter invalid: / } };
    t.match(await call(server, 'GET', `/api/v1/namespaces/a/configmaps/${name}`), expected, name);
    t.match(await call(server, 'DELETE', `/api/v1/namespaces/a/configmaps/${name}`), expected, `DELETE ${name}`);
  }
  t.equal((await call(server, 'GET', '/api/v1/namespaces/a/configmaps/%61')).status, 200);
  t.equal((await call(server, 'GET', '/api/v1/namespaces/a/configmaps/')).status, 200);
});

t.test('a selector beside a name selects that name', async (t) => {
  const server = await startServer(t);
  await call(server, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'ns' } } });
  for (const name of ['mine', 'other']) {
    await call(server, 'POST', '/api/v1/namespaces/ns/secrets', { body: { metadata: { name } } });
  }
  const plain = await call(
    server,
    'GET',
    '/api/v1/namespaces/ns/secrets/mine?watch=1&fieldSelector=metadata.name%3Dother',
  );
  t.match(plain, { status: 200, json: { kind: 'Secret' } }, 'a read of one object is not a watch, whatever its query');
  const bad = {
    status: 400,
    json: { reason: 'BadRequest', message: "fieldSelector metadata.name doesn't match requested name" },
  };
  const path = '/api/v1/watch/namespaces/ns/secrets/mine';
  const ask = (more: string) => call(server, 'GET', `${path}?timeoutSeconds=1${more}`);
  for (const selector of ['metadata.name!=mine', 'metadata.name=other', 'type=Opaque', 'metadata.namespace=ns']) {
    t.match(await ask(`&fieldSelector=${encodeURIComponent(selector)}`), bad, `${path} ${selector}`);
  }
  for (const selector of ['metadata.name=mine', 'metadata.name==mine,type=Opaque', ',', '']) {
    const { status, text } = await ask(`&fieldSelector=${encodeURIComponent(selector)}`);
    t.equal(status, 200);
    t.same(
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).object.metadata.name),
      ['mine'],
      `${path} ${selector}`,
    );
  }
  t.match(await ask('&fieldSelector=mine'), { status: 400, json: { message: /can't understand 'mine'/ } });
  const list = await call(server, 'GET', '/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dmine');
  t.same(
    list.json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    ['mine'],
  );
});
