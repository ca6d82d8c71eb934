import { request } from 'node:https';
import { connect } from 'node:tls';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { call, callHttps, startServer } from '#test/integration/apiserver/server.js';

const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

const path = '/api/v1/namespaces/default/configmaps';

t.test('create, get, list, update, delete over HTTPS', async (t) => {
  const server = await startServer(t, { https: true });
  const created = await callHttps(server, 'POST', path, { body: configMap('a', { x: '1' }) });
  t.equal(created.status, 201);
  t.match(created.json.metadata, { name: 'a', namespace: 'default', uid: /^[0-9a-f-]{36}$/, resourceVersion: /^\d+$/ });
  t.equal((await callHttps(server, 'POST', path, { body: configMap('a') })).json.reason, 'AlreadyExists');

  const got = await callHttps(server, 'GET', `${path}/a`);
  t.same(got.json, created.json);
  t.match(got.headers, { 'content-type': 'application/json', 'cache-control': 'no-cache, private', 'audit-id': /./ });

  const changed = await callHttps(server, 'PUT', `${path}/a`, { body: { ...created.json, data: { x: '2' } } });
  t.equal(changed.status, 200);
  t.not(changed.json.metadata.resourceVersion, created.json.metadata.resourceVersion);
  const stale = await callHttps(server, 'PUT', `${path}/a`, { body: { ...created.json, data: { x: '3' } } });
  t.match(stale.json, { code: 409, reason: 'Conflict', message: /the object has been modified/ });

  const list = await callHttps(server, 'GET', path);
  t.match(list.json, { kind: 'ConfigMapList', apiVersion: 'v1', items: [{ data: { x: '2' } }] });

  const deleted = await callHttps(server, 'DELETE', `${path}/a`);
  t.match(deleted.json, { kind: 'Status', status: 'Success', details: { name: 'a', kind: 'configmaps' } });
  t.match((await callHttps(server, 'GET', `${path}/a`)).json, {
    code: 404,
    reason: 'NotFound',
    message: 'configmaps "a" not found',
    details: { name: 'a', kind: 'configmaps' },
  });
});

t.test('a watch streams changes and ends with the server', async (t) => {
  const server = await startServer(t, { https: true });
  await call(server, 'POST', path, { body: configMap('before') });
  const events: { type: string; object: { metadata: { name: string } } }[] = [];
  let ended: () => void = () => undefined;
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const seen = new Map<number, () => void>();
  const reached = (count: number) =>
    new Promise<void>((resolve) => (events.length >= count ? resolve() : seen.set(count, resolve)));
  const watch = request(
    { host: '127.0.0.1', port: server.address?.port, path: `${path}?watch=1`, rejectUnauthorized: false, agent: false },
    (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) events.push(JSON.parse(line));
        for (const [count, resolve] of seen) if (events.length >= count) resolve();
      });
      response.on('end', ended);
    },
  );
  watch.end();
  await reached(1);
  await call(server, 'POST', path, { body: configMap('b') });
  await call(server, 'DELETE', `${path}/b`);
  await reached(3);
  t.same(
    events.map((event) => [event.type, event.object.metadata.name]),
    [
      ['ADDED', 'before'],
      ['ADDED', 'b'],
      ['DELETED', 'b'],
    ],
  );
  await server.close();
  await end;
});

t.test('unserved paths and methods are refused with a Status', async (t) => {
  const server = await startServer(t);
  const rows: [string, string, number, string][] = [
    ['GET', '/api/v1/namespaces/default/nothings', 404, 'NotFound'],
    ['GET', '/apis/apps/v1/things', 404, 'NotFound'],
    ['PUT', path, 405, 'MethodNotAllowed'],
    ['GET', '/api/v1/configmaps/x', 404, 'NotFound'],
  ];
  for (const [method, url, code, reason] of rows) {
    const response = await call(server, method, url);
    t.match(response.json, { kind: 'Status', status: 'Failure', code, reason }, `${method} ${url}`);
    t.equal(response.status, code);
  }
  t.equal((await call(server, 'GET', path, { headers: { accept: 'text/html' } })).status, 406);
  t.equal((await call(server, 'POST', path, { headers: { 'content-type': 'text/plain' }, body: 'x' })).status, 415);
});

t.test('a renewed certificate is used for new connections', async (t) => {
  const server = await startServer(t, { https: true });
  const issuer = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: server.address?.port, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });
  t.match(await issuer(), /^test@/);
  const next = await createSelfSigned({
    commonName: 'next',
    names: ['localhost'],
    ips: ['127.0.0.1'],
    now: realClock.now(),
  });
  server.reloadTLS({ cert: next.certificate, key: next.privateKey });
  t.match(await issuer(), /^next@/);
});
