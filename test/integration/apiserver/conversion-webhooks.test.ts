/** Custom objects whose versions a webhook converts: with valid responses, invalid ones, and none. */
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { sendJson } from '#apiserver/webhooks/testing/webhook-server.js';
import {
  type Any,
  at,
  converted,
  definition,
  group,
  type Hook,
  setUp,
  site,
} from '#test/integration/apiserver/webhooks/conversion-hook.js';

for (const [dialect, reviews] of [
  [kubernetesDialect, ['v2', 'v1', 'v1beta1']],
  [orchDialect, ['v1beta1']],
] as const) {
  t.test(`every verb in every version: ${dialect.name}`, async (t) => {
    const [{ send, events }, hook] = await setUp(t, dialect, reviews);
    const created = await send('POST', at('v2'), site('v2', 'a', { host: 'x', port: '80', extra: 1 }));
    t.equal(created.status, 201);
    t.same(created.body.spec, { host: 'x', port: '80' });
    const review = reviews.includes('v1' as never) ? 'v1' : 'v1beta1';
    t.match(hook.requests[0], {
      kind: 'ConversionReview',
      apiVersion: dialect.apiVersion('apiextensions', review),
      request: {
        uid: /^[0-9a-f-]{36}$/,
        desiredAPIVersion: `${group}/v1`,
        objects: [
          { apiVersion: `${group}/v2`, kind: 'Site', metadata: { name: 'a' }, spec: { host: 'x', port: '80' } },
        ],
      },
    });
    hook.requests.length = 0;
    t.same((await send('GET', at('v1', 'a'))).body.spec, { host: 'x:80' });
    t.equal(hook.requests.length, 0, 'the webhook is not called for the stored version');
    t.same((await send('GET', at('v3', 'a'))).body.spec, { address: { host: 'x', port: '80' } });
    await send('GET', at('v3', 'a'));
    t.equal(hook.requests.length, 1, 'what was converted is kept');

    await send('POST', at('v1'), site('v1', 'b', { host: 'y:81' }));
    await send('POST', at('v1'), site('v1', 'c', { host: 'z:82' }));
    hook.requests.length = 0;
    const list = await send('GET', at('v2'));
    t.same(
      list.body.items.map((item: Any) => [item.apiVersion, item.spec.host]),
      ['x', 'y', 'z'].map((host) => [`${group}/v2`, host]),
    );
    t.equal(hook.requests.length, 1, 'about a list once');
    t.match(await events(`${at('v3')}?watch=true&resourceVersion=0&timeoutSeconds=1`), [
      { type: 'ADDED', object: { apiVersion: `${group}/v3`, spec: { address: { host: 'x' } } } },
      { type: 'ADDED', object: { spec: { address: { host: 'y' } } } },
      { type: 'ADDED', object: { spec: { address: { host: 'z' } } } },
    ]);
    const merge = 'application/merge-patch+json';
    t.same((await send('PATCH', at('v3', 'b'), { spec: { address: { port: '99' } } }, merge)).body.spec, {
      address: { host: 'y', port: '99' },
    });
    t.same((await send('GET', at('v1', 'b'))).body.spec, { host: 'y:99' });
    const apply = 'application/apply-patch+yaml';
    const applied = await send(
      'PATCH',
      `${at('v2', 'd')}?fieldManager=me`,
      site('v2', 'd', { host: 'q', port: '1', note: 'n' }),
      apply,
    );
    t.equal(applied.status, 201);
    t.same((await send('GET', at('v1', 'd'))).body.spec, { host: 'q:1', note: 'n' });
    const { body } = await send('GET', at('v2', 'a'));
    const put = await send('PUT', at('v2', 'a'), { ...body, spec: { host: 'new', port: '8' } });
    t.match(put, { status: 200, body: { metadata: { generation: 2 }, spec: { host: 'new', port: '8' } } });
    t.match(await send('DELETE', at('v3', 'a')), { status: 200 });
    t.equal((await send('GET', at('v1', 'a'))).status, 404);
  });
}

t.test('random objects survive the conversion to every version and back', async (t) => {
  const [{ send }] = await setUp(t, kubernetesDialect, ['v1']);
  const random = seededRandom(20221);
  const pick = (n: number) => Math.floor(random() * n);
  for (let i = 0; i < 40; i++) {
    const [host, port] = [`h${pick(1000)}`, String(pick(65_536))];
    const noted = pick(2) === 0 ? {} : { note: `n${pick(100)}` };
    const specs: Any = {
      v1: { host: `${host}:${port}`, ...noted },
      v2: { host, port, ...noted },
      v3: { address: { host, port }, ...noted },
    };
    const version = `v${1 + pick(3)}`;
    await send('POST', at(version), site(version, `o${i}`, specs[version]));
    for (const other of ['v1', 'v2', 'v3']) {
      t.same((await send('GET', at(other, `o${i}`))).body.spec, specs[other], `${i}: ${version} as ${other}`);
    }
  }
});

t.test(
  'a stored version that changes: what is stored in the old one is converted, and rewritten when it is written',
  async (t) => {
    const [{ send }, hook] = await setUp(t, kubernetesDialect, ['v1']);
    await send('POST', at('v1'), site('v1', 'old', { host: 'x:80' }));
    const path = `/apis/${kubernetesDialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions/sites.${group}`;
    const { body } = await send('GET', path);
    const next = definition(hook, ['v1'], 'v2');
    t.equal((await send('PUT', path, { ...body, spec: next.spec })).status, 200);
    while (((await send('GET', path)).body.status.storedVersions ?? []).length < 2) await clock.sleep(5);
    await send('POST', at('v2'), site('v2', 'new', { host: 'y', port: '81' }));
    for (const [version, expected] of Object.entries({
      v1: [{ host: 'y:81' }, { host: 'x:80' }],
      v2: [
        { host: 'y', port: '81' },
        { host: 'x', port: '80' },
      ],
      v3: [{ address: { host: 'y', port: '81' } }, { address: { host: 'x', port: '80' } }],
    })) {
      t.same(
        (await send('GET', at(version))).body.items.map((item: Any) => item.spec),
        expected,
        version,
      );
    }
    hook.requests.length = 0;
    await send('PATCH', at('v2', 'old'), { metadata: { labels: { touched: 'yes' } } }, 'application/merge-patch+json');
    hook.requests.length = 0;
    t.match((await send('GET', at('v2', 'old'))).body, {
      metadata: { labels: { touched: 'yes' } },
      spec: { host: 'x' },
    });
    t.equal(hook.requests.length, 0, 'it is stored in the new version now');
  },
);

t.test('an invalid response fails only its own request', async (t) => {
  const [{ send }, hook] = await setUp(t, kubernetesDialect, ['v1']);
  await send('POST', at('v1'), site('v1', 'a', { host: 'x:80' }));
  const about = `conversion webhook for ${group}/v1, Kind=Site`;
  const changed =
    (change: (answer: Any) => void): Hook['answer'] =>
    (review, response) => {
      const answer = converted(review);
      change(answer);
      sendJson(response, answer);
    };
  const first = (change: (object: Any) => void) => changed(({ response }) => change(response.convertedObjects[0]));
  const cases: readonly [what: string, answer: Hook['answer'], message: string | RegExp][] = [
    [
      'a failure',
      changed(({ response }) => {
        response.result = { status: 'Failure', message: 'cannot do that' };
      }),
      `${about} failed: cannot do that`,
    ],
    [
      'no result',
      changed(({ response }) => {
        response.result = {};
      }),
      `${about} failed: response.result.status was '', not 'Success'`,
    ],
    ['no response', (_review, response) => sendJson(response, { kind: 'x' }), /failed: expected webhook response of /],
    [
      'another uid',
      changed(({ response }) => {
        response.uid = 'x';
      }),
      /failed: expected response.uid="[0-9a-f-]{36}", got "x"$/,
    ],
    [
      'too few',
      changed(({ response }) => {
        response.convertedObjects = [];
      }),
      `${about} returned 0 objects, expected 1`,
    ],
    [
      'another version',
      first((object) => {
        object.apiVersion = `${group}/v3`;
      }),
      `${about} returned invalid object at index 0: invalid groupVersion (expected ${group}/v2, received ${group}/v3)`,
    ],
    [
      'another kind',
      first((object) => {
        object.kind = 'Other';
      }),
      `${about} returned invalid object at index 0: invalid kind (expected Site, received Other)`,
    ],
    [
      'another name',
      first((object) => {
        object.metadata.name = 'b';
      }),
      `${about} returned invalid object: must have the same name: a != b`,
    ],
    [
      'no metadata',
      first((object) => {
        delete object.metadata;
      }),
      `${about} returned invalid metadata: missing metadata in converted object`,
    ],
    [
      'a label that is none',
      first((object) => {
        object.metadata.labels = { 'not ok': 'x' };
      }),
      /returned invalid metadata: metadata.labels: Invalid value: "not ok"/,
    ],
    [
      'labels that are none',
      first((object) => {
        object.metadata.labels = ['x'];
      }),
      `${about} returned invalid metadata: invalid metadata.labels of type []interface {} in converted object`,
    ],
    [
      'an annotation that is no text',
      first((object) => {
        object.metadata.annotations = { a: 1 };
      }),
      `${about} returned invalid metadata: metadata.annotations[a] must be a string, but is int64 in converted object`,
    ],
    ['no JSON', (_review, response) => void response.writeHead(200).end('{'), /failed: the answer cannot be read/],
    [
      'a crash',
      (_review, response) => void response.destroy(),
      /failed: Post "https:\/\/localhost:\d+\/convert\?timeout=30s": EOF$/,
    ],
    [
      'too deep',
      (review, response) => {
        const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
        response.end(JSON.stringify(converted(review)).replace('"unknown":1', `"unknown":${deep}`));
      },
      /returned invalid object|the answer cannot be read/,
    ],
  ];
  for (const [what, answer, message] of cases) {
    hook.answer = answer;
    const reply = await send('GET', at('v2', 'a'));
    t.equal(reply.status, 500, what);
    t.match(reply.body.message, message, what);
    t.notOk('reason' in reply.body, 'as 1.24 has it');
    t.equal((await send('GET', at('v1', 'a'))).status, 200, 'others go on');
  }
  hook.answer = (review, response) => {
    const answer = converted(review);
    Object.assign(answer.response.convertedObjects[0].metadata, {
      labels: { new: 'yes' },
      finalizers: ['evil/x'],
      generation: 99,
    });
    sendJson(response, answer);
  };
  const { body } = await send('GET', at('v2', 'a'));
  t.match(body.metadata, { labels: { new: 'yes' }, generation: 1 });
  t.notOk('finalizers' in body.metadata, 'labels and annotations are all that it may change');
});
