/** managedFields of objects whose versions a webhook converts, in the managers' own versions. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { sendJson } from '#apiserver/webhooks/testing/webhook-server.js';
import type { WebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';
import {
  type Any,
  at,
  converted,
  group,
  type Hook,
  honest,
  setUp,
  site,
} from '#test/integration/apiserver/webhooks/conversion-hook.js';

const applyPatch = 'application/apply-patch+yaml';
const mergePatch = 'application/merge-patch+json';

/** One object and its operations. */
class Site {
  readonly hook: Hook;
  readonly #send: WebhookCluster['send'];
  readonly #name: string;

  constructor({ send, hook }: Shared, name: string) {
    this.#send = send;
    this.#name = name;
    this.hook = hook;
  }

  apply(manager: string, version: string, spec: object, options = '') {
    this.hook.requests.length = 0;
    const path = `${at(version, this.#name)}?fieldManager=${manager}${options}`;
    return this.#send('PATCH', path, site(version, this.#name, spec), applyPatch);
  }

  applyPart(manager: string, version: string, part: string, body: object) {
    return this.#send('PATCH', `${at(version, this.#name)}/${part}?fieldManager=${manager}`, body, applyPatch);
  }

  merge(manager: string, version: string, patch: object, more = '') {
    this.hook.requests.length = 0;
    return this.#send('PATCH', `${at(version, this.#name)}${more}?fieldManager=${manager}`, patch, mergePatch);
  }

  async get(version = 'v1'): Promise<Any> {
    return (await this.#send('GET', at(version, this.#name))).body;
  }

  /** `a v1: host note`, of the stored version, which needs no conversion. */
  async owners(): Promise<string[]> {
    const { metadata } = await this.get();
    const owners = (metadata.managedFields ?? []).map(({ manager, apiVersion, subresource, fieldsV1 }: Any) => {
      const { 'f:spec': spec = {}, 'f:status': status = {} } = fieldsV1;
      const fields = Object.keys({ ...spec, ...status }).map((name) => name.replace('f:', ''));
      const who = subresource === undefined ? manager : `${manager}/${subresource}`;
      return `${who} ${apiVersion.split('/')[1]}: ${fields.join(' ')}`;
    });
    return owners.sort();
  }

  /** Target version and number of objects of each conversion. */
  get questions(): string[] {
    return this.hook.requests.map(
      ({ request }) => `${request.desiredAPIVersion.split('/')[1]}: ${request.objects.length}`,
    );
  }
}

interface Shared {
  readonly send: WebhookCluster['send'];
  readonly hook: Hook;
}

const shared: Promise<Shared> = setUp(t, dialect, ['v1']).then(([{ send }, hook]) => ({ send, hook }));

t.test('apply and update in several versions', async (t) => {
  const one = new Site(await shared, 'writers');
  t.equal((await one.apply('a', 'v1', { host: 'x:80' })).status, 201);
  t.equal((await one.apply('b', 'v2', { note: 'n' })).status, 200);
  t.same(await one.owners(), ['a v1: host', 'b v2: note']);
  // Read as v2, both states at once as v1, and stored as v1.
  t.same(one.questions, ['v2: 1', 'v1: 2', 'v1: 1', 'v2: 1']);
  t.notOk(
    one.hook.requests[1].request.objects.some(({ metadata }: Any) => 'managedFields' in metadata),
    'more is not sent than is needed',
  );

  const conflict = await one.apply('b', 'v2', { note: 'n', port: '81' });
  t.match(conflict, {
    status: 409,
    body: {
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "a": .spec.host',
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.host' }] },
    },
  });
  const dry = await one.apply('b', 'v2', { note: 'n', port: '81' }, '&force=true&dryRun=All');
  t.match(dry, { status: 200, body: { spec: { host: 'x', port: '81' } } });
  t.same(await one.owners(), ['a v1: host', 'b v2: note'], 'a dry run changes nothing');
  t.equal((await one.apply('b', 'v2', { note: 'n', port: '81' }, '&force=true')).status, 200);
  t.same(await one.owners(), ['b v2: note port']);
  t.same((await one.get()).spec, { host: 'x:81', note: 'n' });

  t.equal((await one.merge('u', 'v3', { spec: { address: { port: '82' } } })).status, 200);
  t.same(await one.owners(), ['b v2: note', 'u v3: address']);
  const applied = await one.apply('a', 'v1', { host: 'x:80' });
  t.equal(
    applied.body.message,
    `Apply failed with 1 conflict: conflict with "u" using ${group}/v3: .spec.address.port`,
  );
  t.equal((await one.apply('a', 'v1', { host: 'x:82' })).status, 200, 'an equal field gets a second owner');
  // The manager uses another version from now on.
  t.equal((await one.apply('a', 'v3', { address: { host: 'x', port: '82' } })).status, 200);
  t.same(await one.owners(), ['a v3: address', 'b v2: note', 'u v3: address']);
  // A removed field is removed for managers that use another name for it, too.
  t.equal((await one.apply('b', 'v2', {})).status, 200);
  t.same(await one.owners(), ['a v3: address', 'b v2: ', 'u v3: address'], 'the spec itself is left to it');
  t.same((await one.get()).spec, { host: 'x:82' });
});

t.test('status and scale', async (t) => {
  const one = new Site(await shared, 'status');
  await one.apply('a', 'v1', { host: 'x:80', replicas: 1 });
  t.equal((await one.merge('s', 'v2', { status: { ready: 'no', replicas: 1 } }, '/status')).status, 200);
  t.same(await one.owners(), ['a v1: host replicas', 's/status v2: . ready replicas']);
  // The object itself owns no status fields, in any version, and the other way round.
  t.equal((await one.merge('u', 'v3', { spec: { note: 'n' }, status: { ready: 'never' } })).status, 200);
  const both = { ...site('v3', 'status', { note: 'other' }), status: { ready: 'yes' } };
  t.match((await one.applyPart('t', 'v3', 'status', both)).body, {
    code: 409,
    message: `Apply failed with 1 conflict: conflict with "s" with subresource "status" using ${group}/v2: .status.ready`,
  });
  t.same((await one.get()).status, { ready: 'no', replicas: 1 });
  t.same(await one.owners(), ['a v1: host replicas', 's/status v2: . ready replicas', 'u v3: note']);
  t.equal((await one.merge('h', 'v2', { spec: { replicas: 3 } }, '/scale')).status, 200);
  // Like 1.24, which has no Scale among the types of custom kinds.
  t.same(await one.owners(), ['a v1: host', 's/status v2: . ready replicas', 'u v3: note']);
  t.same((await one.get()).spec, { host: 'x:80', replicas: 3, note: 'n' });
});

t.test('server-side apply takes over fields of client-side apply, in its version', async (t) => {
  const one = new Site(await shared, 'taken');
  const last = site('v1', 'taken', { host: 'x:80', note: 'n' });
  const annotation = dialect.annotations.lastApplied;
  await one.apply('b', 'v2', { port: '80', host: 'x' });
  const patch = { metadata: { annotations: { [annotation]: JSON.stringify(last) } }, spec: { note: 'n' } };
  t.equal((await one.merge('kubectl-client-side-apply', 'v1', patch)).status, 200);
  // Like in 1.24, the annotation of another version is ignored.
  t.equal((await one.apply('kubectl', 'v3', { note: 'm' })).status, 409);
  t.equal((await one.apply('kubectl', 'v1', { host: 'x:80', note: 'm' })).status, 200);
  t.same(await one.owners(), ['b v2: host port', 'kubectl v1: host note', 'kubectl-client-side-apply v1: ']);
});

t.test('a webhook that fails or returns wrong objects fails the write completely', async (t) => {
  const one = new Site(await shared, 'faults');
  await one.apply('a', 'v1', { host: 'x:80' });
  await one.apply('b', 'v2', { note: 'n' });
  const before = await one.get();
  const about = `conversion webhook for ${group}/v1, Kind=Site`;
  const lying =
    (lie: (response: Any) => void): Hook['answer'] =>
    (review, response) => {
      const answer = converted(review);
      lie(answer.response);
      sendJson(response, answer);
    };
  const ofLast = (lie: (object: Any) => void) => lying(({ convertedObjects }) => lie(convertedObjects.at(-1)));
  const wrong = `${about} returned invalid object`;
  const cases: readonly [what: string, answer: Hook['answer'], message: string | RegExp][] = [
    [
      'a failure',
      lying((response) => {
        response.result = { status: 'Failure', message: 'cannot do that' };
      }),
      `${about} failed: cannot do that`,
    ],
    ['too few', lying(({ convertedObjects }) => convertedObjects.pop()), `${about} returned 1 objects, expected 2`],
    [
      'too many',
      lying(({ convertedObjects }) => convertedObjects.push(convertedObjects[0])),
      `${about} returned 3 objects, expected 2`,
    ],
    [
      'another version',
      ofLast((object) => {
        object.apiVersion = `${group}/v3`;
      }),
      `${wrong} at index 0: invalid groupVersion (expected ${group}/v2, received ${group}/v3)`,
    ],
    [
      'another name',
      ofLast((object) => {
        object.metadata.name = 'other';
      }),
      `${wrong}: must have the same name: faults != other`,
    ],
    [
      'another uid',
      ofLast((object) => {
        object.metadata.uid = 'other';
      }),
      /must have the same UID: [0-9a-f-]{36} != other$/,
    ],
    [
      'no spec of the type',
      ofLast((object) => {
        object.spec = 'none';
      }),
      `${about} returned invalid object: .spec: expected map, got &{none}`,
    ],
    [
      'no object',
      lying(({ convertedObjects }) => convertedObjects.splice(1, 1, 'none')),
      `${wrong}: it is not an object`,
    ],
    ['a crash', (_review, response) => void response.destroy(), /failed: Post "https:.*": EOF$/],
  ];
  for (const [what, answer, message] of cases) {
    one.hook.answer = answer;
    const reply = await one.apply('a', 'v1', { host: 'y:80' });
    t.match(reply, { status: 500, body: { message } }, what);
    t.notOk('reason' in reply.body, 'as 1.24 has it');
    t.same(await one.get(), before, what);
    // Also for a version that is not known to be stored.
    t.equal((await one.merge('u', 'v3', { spec: { note: 'm' } })).status, 500, what);
  }
  one.hook.answer = cases[0]?.[1] ?? honest;
  t.same(await one.get(), before);
  // Like in 1.24, the stored object can be written without it; here, no manager loses fields.
  const reply = await one.merge('u', 'v1', { spec: { note: 'm' } });
  t.equal(reply.status, 200);
  t.same(reply.warnings, [`managers keep the fields they have in ${group}/v2: ${about} failed: cannot do that`]);
  t.same(await one.owners(), ['a v1: host', 'b v2: note', 'u v1: note']);
  one.hook.answer = honest;
  await one.merge('u', 'v1', { spec: { note: 'k' } });
  t.same(await one.owners(), ['a v1: host', 'u v1: note'], 'as soon as it answers again, all is as it should be');
});

t.test('removing a version from the definition removes its managers', async (t) => {
  const { send, hook } = await shared;
  const one = new Site({ send, hook }, 'left');
  await one.apply('a', 'v3', { address: { host: 'x', port: '80' } });
  await one.apply('b', 'v2', { note: 'n' });
  const path = `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions/sites.${group}`;
  const { body } = await send('GET', path);
  body.spec.versions = body.spec.versions.filter(({ name }: Any) => name !== 'v3');
  t.equal((await send('PUT', path, body)).status, 200);
  while ((await send('GET', at('v3', 'left'))).status !== 404) await new Promise((resolve) => setImmediate(resolve));
  t.equal((await one.apply('c', 'v1', { host: 'y:80' })).status, 200, 'there is no conflict');
  t.same(await one.owners(), ['b v2: note', 'c v1: host']);
});
