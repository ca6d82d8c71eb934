import t from 'tap';
import { callHttps, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/pods';
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const debug = { name: 'debug', image: 'busybox:1', targetContainerName: 'main', stdin: true, tty: true };
const pod = (fields: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', labels: { app: 'p' } },
  spec: { containers: [{ name: 'main', image: 'i:1' }], ...fields },
});

t.test('containers are added to an existing pod', async (t) => {
  const server = await startServer(t, { https: true });
  const early = await callHttps(server, 'POST', path, { body: pod({ ephemeralContainers: [debug] }) });
  t.match(early.json, {
    code: 422,
    details: {
      causes: [
        { reason: 'FieldValueForbidden', field: 'spec.ephemeralContainers', message: /cannot be set on create/ },
      ],
    },
  });
  const created = await callHttps(server, 'POST', path, { body: pod() });
  t.equal(created.status, 201);
  const url = `${path}/p/ephemeralcontainers`;
  t.same((await callHttps(server, 'GET', url)).json, created.json, 'the view is the pod');

  // Like debugging clients.
  const patch = { spec: { ephemeralContainers: [debug] } };
  const patched = await callHttps(server, 'PATCH', url, { headers: strategic, body: patch });
  t.equal(patched.status, 200);
  t.match(patched.json.spec.ephemeralContainers, [
    {
      ...debug,
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    },
  ]);
  t.not(patched.json.metadata.resourceVersion, created.json.metadata.resourceVersion);

  const more = structuredClone(patched.json);
  more.spec.ephemeralContainers.push({ name: 'second', image: 'busybox' });
  more.spec.nodeName = 'elsewhere';
  more.metadata.labels = { app: 'other' };
  more.status = { phase: 'Failed' };
  const put = await callHttps(server, 'PUT', url, { body: more });
  t.equal(put.status, 200);
  t.same(
    put.json.spec.ephemeralContainers.map(({ name }: { name: string }) => name),
    ['debug', 'second'],
  );
  t.match(put.json, { metadata: { labels: { app: 'p' } }, status: { phase: 'Pending' } }, 'nothing else changes');
  t.equal(put.json.spec.nodeName, undefined);
  const stale = await callHttps(server, 'PUT', url, { body: more });
  t.match(stale.json, { code: 409, reason: 'Conflict' });
  t.same((await callHttps(server, 'GET', `${path}/p`)).json, put.json);
});

t.test('invalid changes are refused', async (t) => {
  const server = await startServer(t, { https: true });
  await callHttps(server, 'POST', path, { body: pod() });
  const url = `${path}/p/ephemeralcontainers`;
  const patched = await callHttps(server, 'PATCH', url, {
    headers: strategic,
    body: { spec: { ephemeralContainers: [debug] } },
  });
  const stored = patched.json;
  const put = async (containers: object[]) => {
    const body = structuredClone(stored);
    body.spec.ephemeralContainers = containers;
    return (await callHttps(server, 'PUT', url, { body })).json;
  };
  const [kept] = stored.spec.ephemeralContainers;
  const refused = (reason: string, field: string, message: RegExp) => ({
    code: 422,
    reason: 'Invalid',
    details: { name: 'p', kind: 'Pod', causes: [{ reason, field, message }] },
  });
  const list = 'spec.ephemeralContainers';
  t.match(await put([]), refused('FieldValueForbidden', list, /"debug" may not be removed/));
  t.match(await put([{ ...kept, image: 'other' }]), refused('FieldValueForbidden', list, /"debug" may not be changed/));
  t.match(await put([kept, { name: 'main', image: 'i' }]), refused('FieldValueDuplicate', `${list}[1].name`, /"main"/));
  t.match(
    await put([kept, { name: 'b', image: 'i', targetContainerName: 'none' }]),
    refused('FieldValueNotFound', `${list}[1].targetContainerName`, /"none"/),
  );
  const failed = await put([
    kept,
    { name: 'b', image: 'i', ports: [{ containerPort: 1 }], resources: { limits: { cpu: '1' } } },
  ]);
  t.match(failed, { code: 422, details: { causes: { length: 2 } } }, 'all failures at once');
  const main = structuredClone(stored);
  main.spec.ephemeralContainers = [];
  t.match(
    (await callHttps(server, 'PUT', `${path}/p`, { body: main })).json,
    refused('FieldValueForbidden', 'spec', /may not change fields other than/),
  );
  t.match((await callHttps(server, 'POST', url, { body: stored })).json, { code: 405 });
  t.match((await callHttps(server, 'GET', `${path}/none/ephemeralcontainers`)).json, { code: 404, reason: 'NotFound' });
});
