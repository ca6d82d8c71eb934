/** Request metrics of the API server, with release 1.24's names and labels. */
import { connect } from 'node:net';
import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { IterableBody } from '#http/server/body.js';

import { call, callHttps, startServer } from '#test/integration/apiserver/server.js';
import { until } from '#test/integration/daemons/api.js';

const configMaps = '/api/v1/namespaces/default/configmaps';

/** The value of the one series with these labels; undefined if there is none. */
async function value(server: ApiServer, name: string, labels: Record<string, string>): Promise<number | undefined> {
  const { text } = await call(server, 'GET', '/metrics');
  const pairs = Object.entries(labels).map(([label, content]) => `${label}="${content}"`);
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const matches = lines.filter((line) => pairs.every((pair) => line.includes(pair)));
  return matches.length === 0 ? undefined : matches.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

t.test('requests by verb, scope, dry run and component', async (t) => {
  const server = await startServer(t);
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  await call(server, 'POST', `${configMaps}?dryRun=All`, { body });
  await call(server, 'POST', `${configMaps}?dryRun=Some`, { body });
  await call(server, 'POST', configMaps, { body });
  await call(server, 'PUT', `${configMaps}/a`, { body });
  await call(server, 'PATCH', `${configMaps}/a?fieldManager=m`, {
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify({ ...body, data: { k: 'v' } }),
  });
  const list = await call(server, 'GET', configMaps);
  await call(server, 'HEAD', `${configMaps}/a`);
  await call(server, 'DELETE', configMaps);
  await call(server, 'GET', '/livez');
  const of = { group: '', version: 'v1', resource: 'configmaps', subresource: '', component: 'apiserver' };
  const rows: [labels: Record<string, string>, count: number][] = [
    [{ verb: 'POST', dry_run: 'All', scope: 'resource', code: '201' }, 1],
    [{ verb: 'POST', dry_run: 'invalid', scope: 'resource', code: '422' }, 1],
    [{ verb: 'POST', dry_run: '', scope: 'resource', code: '201' }, 1],
    [{ verb: 'PUT', dry_run: '', scope: 'resource', code: '200' }, 1],
    [{ verb: 'APPLY', dry_run: '', scope: 'resource', code: '200' }, 1],
    [{ verb: 'LIST', dry_run: '', scope: 'namespace', code: '200' }, 1],
    [{ verb: 'GET', dry_run: '', scope: 'resource', code: '200' }, 1],
    [{ verb: 'DELETE', dry_run: '', scope: 'namespace', code: '200' }, 1],
  ];
  for (const [labels, count] of rows) {
    t.equal(await value(server, 'apiserver_request_total', { ...of, ...labels }), count, JSON.stringify(labels));
  }
  const health = { verb: 'GET', subresource: '/livez', scope: '', component: 'apiserver' };
  t.equal(await value(server, 'apiserver_request_total', health), 1);

  const lists = { ...of, verb: 'LIST', scope: 'namespace' };
  t.equal(await value(server, 'apiserver_response_sizes_sum', lists), Buffer.byteLength(list.text));
  t.equal(await value(server, 'apiserver_response_sizes_bucket', { ...lists, le: '1000000000' }), 1);
  t.equal(await value(server, 'apiserver_response_sizes_count', { ...of, verb: 'PUT' }), undefined, 'of reads only');
  const posts = { ...of, verb: 'POST', scope: 'resource' };
  t.equal(await value(server, 'apiserver_request_duration_seconds_count', { ...posts, dry_run: 'All' }), 1);
  t.equal(await value(server, 'apiserver_request_slo_duration_seconds_count', posts), 3, 'without the dry run');
  t.equal(await value(server, 'apiserver_request_duration_seconds_bucket', { ...posts, le: '1.25' }), 3);

  const step = { operation: 'CREATE', rejected: 'false', type: 'admit' };
  t.equal(await value(server, 'apiserver_admission_step_admission_duration_seconds_summary_count', step), 2);
  for (const filter of ['authentication', 'impersonation', 'authorization']) {
    t.ok(((await value(server, 'apiserver_request_filter_duration_seconds_count', { filter })) ?? 0) >= 9, filter);
  }
});

t.test('responses of unknown length, and the server’s own requests', async (t) => {
  const authenticator = { authenticate: async () => ({ name: 'system:apiserver', groups: ['system:masters'] }) };
  const server = await startServer(t, { dependencies: { authenticator } });
  for (let i = 0; i < 200; i++) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `a${i}` }, data: { k: 'x'.repeat(2000) } };
    await call(server, 'POST', configMaps, { body });
  }
  const table = await call(server, 'GET', configMaps, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  const all = { verb: 'LIST', resource: 'configmaps' };
  t.equal(await value(server, 'apiserver_response_sizes_sum', all), Buffer.byteLength(table.text));
  t.equal(await value(server, 'apiserver_selfrequest_total', { verb: 'POST', resource: 'configmaps' }), 200);
});

t.test('a request that times out, and its unfinished work', async (t) => {
  const gate = deferred<void>();
  const authorizer = {
    mode: 'Slow',
    authorize: async ({ resource }: { resource?: string }) => {
      if (resource === 'configmaps') await gate.promise;
      return { decision: 'allow' as const, reason: '' };
    },
  };
  const server = await startServer(t, { dependencies: { authorizer } });
  t.equal((await call(server, 'GET', `${configMaps}?timeout=20ms`)).status, 504);
  const labels = { verb: 'LIST', resource: 'configmaps', component: 'apiserver', code: '504' };
  t.equal(await value(server, 'apiserver_request_terminations_total', labels), 1);
  const after = { source: 'timeout-handler', status: 'ok' };
  t.equal(await value(server, 'apiserver_request_post_timeout_total', after), undefined, 'the work has not ended');
  gate.resolve();
  await until('the metric', async () => (await value(server, 'apiserver_request_post_timeout_total', after)) === 1);
});

t.test('rejected requests are counted', async (t) => {
  const gate = deferred<void>();
  const admission = [{ name: 'Slow', handles: () => true, admit: () => gate.promise }];
  const authenticator = { authenticate: async () => ({ name: 'user', groups: [] }) };
  const server = await startServer(t, {
    options: { maxMutatingRequestsInFlight: 1 },
    dependencies: { admission, authenticator },
  });
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const first = call(server, 'POST', configMaps, { body });
  await until(
    'the metric',
    async () => (await value(server, 'apiserver_current_inflight_requests', { request_kind: 'mutating' })) === 1,
  );
  t.equal((await call(server, 'POST', configMaps, { body })).status, 429);
  gate.resolve();
  await first;
  t.equal(await value(server, 'apiserver_dropped_requests_total', { request_kind: 'mutating' }), 1);
  const labels = { verb: 'POST', resource: 'configmaps', component: 'apiserver', code: '429' };
  t.equal(await value(server, 'apiserver_request_terminations_total', labels), 1);
});

t.test('failed handshakes and aborted responses are counted', async (t) => {
  const broken = async () => ({
    status: 200,
    headers: {},
    body: new IterableBody(
      (async function* () {
        yield Buffer.from('half');
        throw new Error('the disk is gone');
      })(),
    ),
  });
  const server = await startServer(t, { https: true, dependencies: { paths: { '/broken': broken } } });
  const socket = connect(server.address?.port ?? 0, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.end('no TLS at all\r\n\r\n');
  await until('the metric', async () => (await value(server, 'apiserver_tls_handshake_errors_total', {})) === 1);
  socket.destroy();
  await t.rejects(callHttps(server, 'GET', '/broken'));
  await until('the metric', async () => (await value(server, 'apiserver_request_aborts_total', { verb: 'GET' })) === 1);
});

t.test('events of watches are counted', async (t) => {
  const server = await startServer(t);
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  await call(server, 'POST', configMaps, { body });
  const watched = await call(server, 'GET', `${configMaps}?watch=1&timeoutSeconds=1`);
  const labels = { group: '', version: 'v1', kind: 'ConfigMap' };
  t.equal(await value(server, 'apiserver_watch_events_total', labels), 1);
  t.equal(await value(server, 'apiserver_watch_events_sizes_sum', labels), Buffer.byteLength(watched.text));
});
