/** Pods of a known template take a fast path, with the same result. */

import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import { benchPod } from '#test/bench/pod.js';
import { type Answer, call, startServer } from '#test/integration/apiserver/server.js';

const pods = '/api/v1/namespaces/default/pods';

/** Fields that differ between any two pods. */
function comparable({
  metadata: { name: _n, uid: _u, resourceVersion: _r, creationTimestamp: _c, ...metadata },
  ...rest
}: Pod) {
  const managedFields = metadata.managedFields?.map(({ time: _, ...entry }) => entry);
  return JSON.stringify({ ...rest, metadata: { ...metadata, managedFields } });
}

t.test('the tenth pod of a template equals the first one', async (t) => {
  let image: string | undefined;
  const admission: AdmissionPlugin = {
    name: 'Images',
    handles: ({ resource, operation }) => resource.resource === 'pods' && operation === 'CREATE',
    admit({ object }) {
      for (const container of (object as Draft<Pod>).spec.containers) container.image = image ?? container.image ?? '';
    },
  };
  const server = await startServer(t, { dependencies: { admission: [admission] } });
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', {
    body: { metadata: { name: 'web' }, automountServiceAccountToken: false },
  });
  const create = (name: string, change: Partial<Pod> = {}, query = ''): Promise<Answer> =>
    call(server, 'POST', `${pods}${query}`, { body: { ...benchPod(name), ...change } });
  const first = await create('web-0');
  t.equal(first.status, 201, first.text);
  for (let i = 1; i < 10; i++) {
    const next = await create(`web-${i}`);
    t.equal(comparable(next.json), comparable(first.json), `${i}`);
    const stored = await call(server, 'GET', `${pods}/web-${i}`);
    t.equal(comparable(stored.json), comparable(first.json), `stored ${i}`);
  }

  t.equal((await create('Not_A_Name')).status, 422, 'the rest is validated');
  image = 'other:1';
  const changed: Pod = (await create('changed')).json;
  t.equal(changed.spec.containers[0]?.image, image, 'admission sees it');
  const dry: Pod = (await create('dry', {}, '?dryRun=All')).json;
  t.equal(comparable(dry), comparable(changed), 'the second object is equal');
  image = undefined;
  t.equal(comparable((await create('again')).json), comparable(first.json), 'and what was changed is not kept');

  const { spec } = benchPod('x');
  const wrong = {
    spec: { ...spec, containers: spec.containers.map((one) => ({ ...one, imagePullPolicy: 'Sometimes' })) },
  };
  const refusals = [];
  for (let i = 0; i < 5; i++) refusals.push(await create('wrong', wrong));
  t.strictSame(
    [...new Set(refusals.map(({ status, text }) => `${status} ${text}`))].length,
    1,
    'what is wrong stays wrong',
  );
  t.equal(refusals[4]?.status, 422);

  const put = await call(server, 'PUT', `${pods}/web-1`, {
    body: { ...first.json, metadata: { name: 'web-1', labels: { a: 'b' } } },
  });
  t.equal(put.status, 200, put.text);
  t.equal(JSON.stringify(put.json.spec), JSON.stringify(first.json.spec));
  const status = await call(server, 'PUT', `${pods}/web-2/status`, {
    body: { ...first.json, metadata: { name: 'web-2' }, status: { ...first.json.status, phase: 'Running' } },
  });
  t.equal(status.json.status.phase, 'Running', status.text);
  t.equal(JSON.stringify(status.json.spec), JSON.stringify(first.json.spec));

  // Like node agents: the whole object with another status.
  const { metadata: read, ...rest }: Pod = (await call(server, 'GET', `${pods}/web-3`)).json;
  const { resourceVersion: _, ...metadata } = read;
  const report = async (message: string, changes: Partial<Pod> = {}): Promise<Pod> => {
    const body = { metadata, ...rest, status: { ...rest.status, message }, ...changes };
    const answer = await call(server, 'PUT', `${pods}/web-3/status`, { body });
    t.equal(answer.json.status?.message, message, answer.text);
    return { ...answer.json, status: rest.status };
  };
  const reported = comparable(await report('0'));
  t.match(reported, /"subresource":"status"/);
  for (let i = 1; i < 8; i++) t.equal(comparable(await report(`${i}`)), reported, `status ${i}`);
  const other = { ...rest.spec, nodeName: 'elsewhere' };
  t.equal(comparable(await report('other', { spec: other })), reported, 'a status brings no spec');
  for (const managedFields of [[], [{}], metadata.managedFields?.map((entry) => ({ ...entry, manager: 'other' }))]) {
    const forged = { metadata: { ...metadata, ...(managedFields && { managedFields }) } };
    t.equal(comparable(await report(`${managedFields?.length} forged`, forged)), reported, 'and no managers');
  }
  const kept = await call(server, 'PUT', `${pods}/web-3`, { body: { metadata, ...rest } });
  t.equal(JSON.stringify(kept.json.spec), JSON.stringify(first.json.spec), kept.text);
  const images = rest.spec.containers.map((one) => ({ ...one, image: 'other:2' }));
  for (let i = 0; i < 4; i++) {
    const put = await call(server, 'PUT', `${pods}/web-${4 + i}`, {
      body: {
        metadata: { ...metadata, name: `web-${4 + i}`, uid: undefined },
        spec: { ...rest.spec, containers: images },
      },
    });
    t.same(put.json.spec, { ...rest.spec, containers: images }, `a changed spec ${i}`);
  }
});
