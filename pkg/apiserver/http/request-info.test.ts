import t from 'tap';
import { discoveredVersion, type RequestInfo, requestInfo } from '#apiserver/http/request-info.js';

type Row = [method: string, url: string, expected: Partial<RequestInfo>];

const rows: Row[] = [
  [
    'GET',
    '/api/v1/namespaces/a/pods',
    { verb: 'list', group: '', version: 'v1', namespace: 'a', resource: 'pods', name: '' },
  ],
  ['GET', '/api/v1/namespaces/a/pods?watch=true', { verb: 'watch', namespace: 'a', resource: 'pods' }],
  ['GET', '/api/v1/namespaces/a/pods?watch', { verb: 'watch' }],
  ['GET', '/api/v1/namespaces/a/pods?watch=0', { verb: 'list' }],
  ['GET', '/api/v1/pods', { verb: 'list', namespace: '', resource: 'pods' }],
  ['GET', '/api/v1/watch/namespaces/a/pods', { verb: 'watch', namespace: 'a', resource: 'pods', name: '' }],
  ['GET', '/api/v1/watch/namespaces/a/pods/b', { verb: 'watch', namespace: 'a', resource: 'pods', name: 'b' }],
  [
    'GET',
    '/apis/apps/v1/namespaces/a/deployments/b',
    { verb: 'get', group: 'apps', resource: 'deployments', name: 'b' },
  ],
  ['HEAD', '/apis/apps/v1/namespaces/a/deployments/b', { verb: 'get' }],
  ['PUT', '/apis/apps/v1/namespaces/a/deployments/b/scale', { verb: 'update', name: 'b', subresource: 'scale' }],
  ['PATCH', '/apis/apps/v1/namespaces/a/deployments/b', { verb: 'patch' }],
  ['POST', '/api/v1/namespaces/a/pods', { verb: 'create', resource: 'pods', name: '' }],
  ['POST', '/api/v1/namespaces/a/pods/b/binding', { verb: 'create', name: 'b', subresource: 'binding' }],
  ['DELETE', '/api/v1/namespaces/a/pods', { verb: 'deletecollection' }],
  ['DELETE', '/api/v1/namespaces/a/pods/b', { verb: 'delete', name: 'b' }],
  ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces', namespace: '' }],
  ['GET', '/api/v1/namespaces/a', { verb: 'get', resource: 'namespaces', name: 'a', namespace: 'a', subresource: '' }],
  ['PUT', '/api/v1/namespaces/a/finalize', { resource: 'namespaces', name: 'a', subresource: 'finalize' }],
  ['PUT', '/api/v1/namespaces/a/status', { resource: 'namespaces', name: 'a', subresource: 'status' }],
  ['GET', '/api/v1/nodes/n/proxy/a/b', { resource: 'nodes', name: 'n', subresource: 'proxy', rest: ['a', 'b'] }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx', { verb: 'list', name: 'x' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx,spec.nodeName%3Dn', { verb: 'list', name: 'x' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name!%3Dx', { verb: 'list', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb', { verb: 'list', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name', { verb: 'list', name: '' }],
  ['DELETE', '/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx', { verb: 'deletecollection', name: '' }],
  ['GET', '/api/v1/namespaces/a', { address: { inNamespace: false, named: true, broken: false } }],
  ['PUT', '/api/v1/namespaces/a/finalize', { address: { inNamespace: false, named: true, broken: false } }],
  [
    'DELETE',
    '/api/v1/namespaces/a/namespaces/b',
    { namespace: 'a', resource: 'namespaces', name: 'b', address: { inNamespace: true, named: true, broken: false } },
  ],
  [
    'GET',
    '/api/v1/namespaces/a/namespaces?fieldSelector=metadata.name%3Da',
    { verb: 'list', name: 'a', address: { inNamespace: true, named: false, broken: false } },
  ],
  [
    'GET',
    '/api/v1/nodes/n?watch=1',
    { verb: 'get', name: 'n', address: { inNamespace: false, named: true, broken: false } },
  ],
  ...[
    '//api/v1/pods',
    '/api//pods',
    '/apis//v1/pods',
    '/api/v1/namespaces//pods',
    '/api/v1/namespaces/a/pods//log',
    '/api/v1/nodes//status',
    '/api/v1/namespaces/a/pods/b//x',
  ].map((url): Row => ['GET', url, { address: { broken: true } as RequestInfo['address'] }]),
  ['GET', '/api/v1/nodes/n/proxy//x', { address: { inNamespace: false, named: true, broken: false } }],
  ['GET', '/api/v1/pods/', { verb: 'list', address: { inNamespace: false, named: false, broken: false } }],
  ['GET', '/api/v1/namespaces/a%20b/pods', { namespace: 'a b' }],
  ['GET', '/api/v1', { resourceRequest: false, verb: 'get' }],
  ['GET', '/apis/apps/v1', { resourceRequest: false }],
  ['POST', '/version', { resourceRequest: false, verb: 'post', path: '/version' }],
  ['GET', '/', { resourceRequest: false, path: '/' }],
];

t.test('paths and methods are parsed', async (t) => {
  for (const [method, url, expected] of rows) t.match(requestInfo({ method, url }), expected, `${method} ${url}`);
});

t.test('malformed percent-encoding is refused', async (t) => {
  t.throws(() => requestInfo({ method: 'GET', url: '/api/v1/namespaces/%zz/pods' }), { code: 400 });
});

t.test('segments, query and tail for discovery, OpenAPI documents and proxies', async (t) => {
  t.match(requestInfo({ method: 'GET', url: '//openapi//v3/apis%2Fapps/v1/?hash=a?b' }), {
    path: '//openapi//v3/apis%2Fapps/v1/',
    segments: ['openapi', 'v3', 'apis%2Fapps', 'v1'],
    search: '?hash=a?b',
    query: new URLSearchParams([['hash', 'a?b']]),
  });
  for (const [url, group, version] of [
    ['/api', '', ''],
    ['/api/v1', '', 'v1'],
    ['/apis', '', ''],
    ['/apis/apps', '', ''],
    ['/apis/apps/v1/', 'apps', 'v1'],
    ['/version', '', ''],
  ] as const)
    t.same(discoveredVersion(requestInfo({ method: 'GET', url })), { group, version }, url);
});
