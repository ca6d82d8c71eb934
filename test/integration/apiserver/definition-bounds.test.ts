/** Definitions that add too much to their objects: by defaults, and by a webhook. */
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { sendJson } from '#apiserver/webhooks/testing/webhook-server.js';
import { startWebhookCluster, type WebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';
import {
  at,
  converted,
  setUp,
  site,
  group as siteGroup,
} from '#test/integration/apiserver/webhooks/conversion-hook.js';

const group = 'growing.example.com';
const name = `rows.${group}`;
const rows = `/apis/${group}/v1/namespaces/default/rows`;
const definitionsOf = (dialect: Dialect) =>
  `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions`;

/** What differs between definitions: the schemas of an element's members. */
interface Kind {
  readonly properties?: object;
}

function specOf({ properties = {} }: Kind) {
  const items = { type: 'object', properties: { a: { type: 'string' }, ...properties } };
  const spec = { type: 'object', properties: { list: { type: 'array', items } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  const version = { name: 'v1', served: true, storage: true, schema };
  return { group, scope: 'Namespaced', names: { plural: 'rows', kind: 'Row' }, versions: [version] };
}

const row = (named: string, elements: readonly object[]) => ({
  apiVersion: `${group}/v1`,
  kind: 'Row',
  metadata: { name: named },
  spec: { list: elements },
});
const many = Array.from({ length: 2000 }, () => ({}));
const large = { properties: { b: { type: 'string', default: 'x'.repeat(1000) } } };

async function define(t: Test, cluster: WebhookCluster): Promise<(kind: Kind) => Promise<void>> {
  const definitions = definitionsOf(cluster.dialect);
  const created = await cluster.send('POST', definitions, { metadata: { name }, spec: specOf({}) });
  t.equal(created.status, 201, 'the definition is created');
  while ((await cluster.send('GET', rows)).status !== 200) await clock.sleep(5);
  return async (kind) => {
    for (let status = 409; status === 409; ) {
      const { body } = await cluster.send('GET', `${definitions}/${name}`);
      ({ status } = await cluster.send('PUT', `${definitions}/${name}`, { ...body, spec: specOf(kind) }));
    }
  };
}

/** Waits for the condition of the definition; undefined if it has none. */
async function conditionOf({ send, dialect }: WebhookCluster, definition: string, exists: boolean) {
  for (;;) {
    const { body } = await send('GET', `${definitionsOf(dialect)}/${definition}`);
    const condition = body.status.conditions.find(({ type }: { type: string }) => type === 'BoundsExceeded');
    if ((condition !== undefined) === exists) return condition;
    await clock.sleep(5);
  }
}

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`defaults that a definition gets later: ${dialect.name}`, async (t) => {
    const cluster = await startWebhookCluster(t, dialect);
    const { send, events } = cluster;
    const change = await define(t, cluster);
    t.equal((await send('POST', rows, row('large', many))).status, 201);
    t.equal((await send('POST', rows, row('small', [{}]))).status, 201);
    await change(large);
    while ((await send('GET', `${rows}/small`)).body.spec.list[0].b === undefined) await clock.sleep(5);
    const why = 'its defaults add more than 1572864 bytes to an object';
    const message = `Internal error occurred: custom resource definition "${name}", version "v1": ${why}`;
    const refused = { status: 500, body: { kind: 'Status', reason: 'InternalError', code: 500, message } };
    t.match(await send('GET', `${rows}/large`), refused, 'a get');
    t.match(await send('GET', rows), refused, 'a list');
    t.match(await send('GET', `${rows}?limit=1`), refused, 'a page with the object');
    t.match(await send('POST', rows, row('new', many)), refused, 'a create');
    const { body: small } = await send('GET', `${rows}/small`);
    t.match(await send('PUT', `${rows}/small`, { ...small, spec: { list: many } }), refused, 'an update');
    const merge = 'application/merge-patch+json';
    t.match(await send('PATCH', `${rows}/large`, { metadata: { labels: { a: 'b' } } }, merge), refused, 'a patch');
    t.match(
      await send(
        'PATCH',
        `${rows}/small?fieldManager=me&force=true`,
        row('small', many),
        'application/apply-patch+yaml',
      ),
      refused,
      'an apply',
    );
    t.match(
      (await events(`${rows}?watch=true&timeoutSeconds=5`)).at(-1),
      { type: 'ERROR', object: { message } },
      'a watch',
    );
    t.match(await send('GET', `${rows}/small`), { status: 200, body: { spec: { list: [{ b: /^x{1000}$/ }] } } });
    t.match(
      await conditionOf(cluster, name, true),
      { status: 'True', reason: 'DefaultsTooLarge', message: `generation 2, version "v1": ${why}` },
      'the definition says so',
    );
    t.match(await send('DELETE', `${rows}/large`), { status: 200 }, 'such an object can be deleted');
    t.match(await send('GET', rows), { status: 200 }, 'then lists are served again');
    await change({});
    t.equal(await conditionOf(cluster, name, false), undefined, 'the next generation begins without the condition');
  });
}

t.test('long lists are encoded object by object', async (t) => {
  const cluster = await startWebhookCluster(t, kubernetesDialect);
  const { send } = cluster;
  const change = await define(t, cluster);
  for (let i = 0; i < 12; i++) await send('POST', rows, row(`row${i}`, many.slice(0, 1000)));
  await change(large);
  while ((await send('GET', `${rows}/row0`)).body.spec.list[0].b === undefined) await clock.sleep(5);
  const { body } = await send('GET', rows);
  t.equal(body.items.length, 12);
  for (const { spec } of body.items) {
    if (spec.list.length !== 1000 || spec.list.some(({ b }: { b: string }) => b.length !== 1000))
      t.fail('a wrong object');
  }
});

t.test('a webhook that answers with much larger objects', async (t) => {
  const [cluster, hook] = await setUp(t, kubernetesDialect, ['v1']);
  const { send, events } = cluster;
  await send('POST', at('v1'), site('v1', 'a', { host: 'x:80' }));
  hook.answer = (review, response) => {
    const answer = converted(review);
    for (const object of answer.response.convertedObjects) object.spec.note = 'x'.repeat(2_000_000);
    sendJson(response, answer);
  };
  const message = /custom resource definition "sites.web.example.com", version "v2": its conversion adds more than/;
  t.match(await send('GET', at('v2', 'a')), { status: 500, body: { message } }, 'a get');
  t.match(await send('GET', at('v2')), { status: 500, body: { message } }, 'a list');
  t.match((await events(`${at('v2')}?watch=true&timeoutSeconds=5`)).at(-1), { type: 'ERROR' }, 'a watch');
  t.match(await conditionOf(cluster, `sites.${siteGroup}`, true), { reason: 'ConversionTooLarge' });
  hook.answer = (review, response) => {
    const answer = converted(review);
    for (const object of answer.response.convertedObjects) object.spec.note = 'x'.repeat(1_000_000);
    sendJson(response, answer);
  };
  for (const other of ['b', 'c', 'd']) await send('POST', at('v1'), site('v1', other, { host: 'x:80' }));
  const { body } = await send('GET', at('v2'));
  t.same(
    body.items.map(({ spec }: { spec: { note: string } }) => spec.note.length),
    [1_000_000, 1_000_000, 1_000_000, 1_000_000],
    'larger objects than what is stored are served within the bound',
  );
});
