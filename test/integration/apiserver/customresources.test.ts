/** Resources of definitions: adding, changing and removing them, and the validation of their objects. */
import t, { type Test } from 'tap';
import type { Dialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { RequestOptions } from '#client/client.js';
import { type Cluster, startCluster } from '#cluster/embedded/start-cluster.js';
import { eventually } from '#test/e2e/harness.js';

type Json = ReturnType<typeof JSON.parse>;

/** A response: the document, or the Status of a failure. */
type Call = (method: string, path: string, body?: unknown, options?: RequestOptions) => Promise<Json>;

const group = 'stable.example.com';
const objects = `/apis/${group}/v1/namespaces/default/crontabs`;
const merge = { contentType: 'application/merge-patch+json' };

function schema({ extensionPrefix: x }: Dialect) {
  const named = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, value: { type: 'string', default: 'v' } },
  };
  const spec = {
    type: 'object',
    required: ['cron'],
    [`${x}validations`]: [
      { rule: '!has(self.min) || self.min <= self.replicas', message: 'too few replicas' },
      { rule: '!has(oldSelf.image) || self.image == oldSelf.image || self.replicas > 1' },
    ],
    properties: {
      cron: { type: 'string', pattern: '^[*0-9/ ]+$' },
      image: { type: 'string', default: 'img' },
      replicas: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
      min: { type: 'integer' },
      groups: {
        type: 'object',
        additionalProperties: {
          type: 'array',
          [`${x}list-type`]: 'map',
          [`${x}list-map-keys`]: ['name'],
          items: named,
        },
      },
      port: { [`${x}int-or-string`]: true },
      raw: { type: 'object', [`${x}preserve-unknown-fields`]: true },
      note: { type: 'string', nullable: true },
      items: { type: 'array', [`${x}list-type`]: 'map', [`${x}list-map-keys`]: ['name'], items: named },
    },
  };
  const status = { type: 'object', properties: { replicas: { type: 'integer' }, selector: { type: 'string' } } };
  return { openAPIV3Schema: { type: 'object', description: 'A table of times.', properties: { spec, status } } };
}

function definition(dialect: Dialect) {
  const columns = [
    { name: 'Spec', type: 'string', jsonPath: '.spec.cron' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
  ];
  const scale = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  };
  const loose = { openAPIV3Schema: { type: 'object', [`${dialect.extensionPrefix}preserve-unknown-fields`]: true } };
  return {
    metadata: { name: `crontabs.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab', shortNames: ['ct'], categories: ['all'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          subresources: { status: {}, scale },
          schema: schema(dialect),
        },
        { name: 'v1beta1', served: true, storage: false, deprecated: true, schema: loose },
        { name: 'v1alpha1', served: false, storage: false, schema: loose },
      ],
    },
  };
}

const cronTab = (name: string, spec: object, more: object = {}) => ({
  apiVersion: `${group}/v1`,
  kind: 'CronTab',
  metadata: { name },
  spec: { cron: '* *', ...spec },
  ...more,
});

function caller({ client }: Cluster): Call {
  return async (method, path, body, options) => {
    try {
      return await client.request<Json>(method, path, body, options);
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      return status;
    }
  };
}

for (const name of ['orch', 'kubernetes'] as const) {
  t.test(`${name} dialect`, { timeout: 300_000 }, async (t) => {
    const cluster = await startCluster({
      dialect: name,
      nodes: 0,
      featureGates: { CustomResourceValidationExpressions: true, ServerSideFieldValidation: true },
    });
    t.teardown(() => cluster.close());
    const { dialect } = cluster.client;
    const call = caller(cluster);
    const definitions = `/apis/${dialect.groupName('apiextensions')}/v1/customresourcedefinitions`;
    t.match(await call('GET', objects), { code: 404, reason: 'NotFound' }, 'before it is defined');
    t.match(await call('POST', definitions, definition(dialect)), { status: { storedVersions: ['v1'] } });
    await eventually('it is served', async () => (await call('GET', `/apis/${group}/v1`)).kind === 'APIResourceList');
    await t.test('discovery', (t) => discovery(t, call));
    await t.test('validation of objects', (t) => rules(t, call));
    await t.test('subresources', (t) => subresources(t, call));
    await t.test('versions', (t) => versions(t, call));
    await t.test('documentation', (t) => documentation(t, call));
    await t.test('a definition that changes', (t) => changes(t, call, definitions, dialect));
    await t.test('deletion of a definition', (t) => end(t, call, definitions, dialect));
  });
}

async function discovery(t: Test, call: Call): Promise<void> {
  const groups = (await call('GET', '/apis')).groups;
  t.match(
    groups.find((one: Json) => one.name === group),
    { preferredVersion: { version: 'v1' }, versions: [{ version: 'v1' }, { version: 'v1beta1' }] },
  );
  t.match((await call('GET', `/apis/${group}/v1`)).resources, [
    {
      name: 'crontabs',
      singularName: 'crontab',
      kind: 'CronTab',
      namespaced: true,
      shortNames: ['ct'],
      categories: ['all'],
    },
    { name: 'crontabs/status', kind: 'CronTab' },
    { name: 'crontabs/scale', group: 'autoscaling', version: 'v1', kind: 'Scale' },
  ]);
  t.match(await call('GET', `/apis/${group}/v1alpha1`), { code: 404 }, 'not served');
}

async function rules(t: Test, call: Call): Promise<void> {
  const given = {
    unknown: 1,
    raw: { x: { y: 1 } },
    note: null,
    image: null,
    port: 'http',
    items: [{ name: 'x', z: 1 }],
  };
  const created = await call('POST', objects, cronTab('a', given, { status: { replicas: 3 } }));
  t.match(created, { apiVersion: `${group}/v1`, kind: 'CronTab', metadata: { generation: 1, namespace: 'default' } });
  const spec = {
    cron: '* *',
    raw: { x: { y: 1 } },
    note: null,
    port: 'http',
    image: 'img',
    replicas: 1,
    items: [{ name: 'x', value: 'v' }],
  };
  t.same(created.spec, spec, 'pruned, with defaults');
  t.equal(created.status, undefined, 'status is written by its own subresource');
  t.same(Object.keys(created.metadata.managedFields[0].fieldsV1), ['f:spec']);
  const notAll =
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  const refused: [spec: object, code: number, text: string][] = [
    [
      { replicas: 11 },
      422,
      'spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10',
    ],
    [
      { port: true },
      422,
      `[spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean", ${notAll}]`,
    ],
    [
      { image: 3 },
      422,
      `[spec.image: Invalid value: "integer": spec.image in body must be of type string: "integer", ${notAll}]`,
    ],
    [{ cron: 'x' }, 422, 'spec.cron: Invalid value: "x": spec.cron in body should match \'^[*0-9/ ]+$\''],
    [{ cron: undefined }, 422, `[spec.cron: Required value, ${notAll}]`],
    [
      { items: [{ name: 'x' }, { name: 'x' }] },
      422,
      'spec.items[1]: Duplicate value: map[string]interface {}{"name":"x"}',
    ],
    [{ min: 2 }, 422, 'spec: Invalid value: "object": too few replicas'],
  ];
  for (const [wrong, code, text] of refused) {
    const answer = await call('POST', objects, cronTab('b', wrong));
    t.match(answer, { code }, text);
    t.equal(answer.message, `CronTab.${group} "b" is invalid: ${text}`);
  }
  t.match(await call('POST', `${objects}?fieldValidation=Strict`, cronTab('b', { foo: 1, raw: { bar: 1 } })), {
    code: 400,
    message: /strict decoding error: unknown field "spec.foo"$/,
  });
  t.match(await call('PUT', `${objects}/a`, cronTab('a', {})), {
    code: 422,
    message: /must be specified for an update/,
  });
  const old = await call('GET', `${objects}/a`);
  t.match(await call('PUT', `${objects}/a`, { ...old, spec: { ...old.spec, replicas: 2 } }), {
    metadata: { generation: 2 },
  });
  t.match(await call('PATCH', `${objects}/a`, { spec: { image: 'other', replicas: 1 } }, merge), {
    code: 422,
    message: /spec: Invalid value: "object": failed rule: !has\(oldSelf.image\)/,
  });
  t.match(await call('PATCH', `${objects}/a`, {}, { contentType: 'application/strategic-merge-patch+json' }), {
    code: 415,
    message:
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
  });
  const patch = [{ op: 'replace', path: '/spec/replicas', value: 3 }];
  t.match(await call('PATCH', `${objects}/a`, patch, { contentType: 'application/json-patch+json' }), {
    spec: { replicas: 3 },
  });
  const apply = { contentType: 'application/apply-patch+yaml' };
  const expected = {
    apiVersion: `${group}/v1`,
    kind: 'CronTab',
    metadata: { name: 'a' },
    spec: { items: [{ name: 'y', value: 'w' }] },
  };
  const applied = await call('PATCH', `${objects}/a?fieldManager=me`, expected, apply);
  t.same(
    applied.spec.items,
    [
      { name: 'x', value: 'v' },
      { name: 'y', value: 'w' },
    ],
    'merged by its keys',
  );
  t.match(
    await call(
      'PATCH',
      `${objects}/a?fieldManager=you`,
      { ...expected, spec: { items: [{ name: 'y', value: 'u' }] } },
      apply,
    ),
    { code: 409, reason: 'Conflict' },
  );
  const inGroup = (name: string) => ({ ...expected, spec: { groups: { one: [{ name }] } } });
  await call('PATCH', `${objects}/a?fieldManager=me`, inGroup('y'), apply);
  const both = await call('PATCH', `${objects}/a?fieldManager=you`, inGroup('z'), apply);
  const elements = [
    { name: 'y', value: 'v' },
    { name: 'z', value: 'v' },
  ];
  t.same(both.spec.groups, { one: elements }, 'merged by their keys in maps of lists');
  const gone = await call('PATCH', `${objects}/a?fieldManager=me`, { ...expected, spec: { image: 'img' } }, apply);
  t.same(gone.spec?.groups, { one: elements.slice(1) }, 'a field that no manager applies any more is removed');
  t.match(await call('GET', `${objects}?fieldSelector=spec.cron%3Dx`), { code: 400 });
  t.match(await call('GET', `${objects}?fieldSelector=metadata.name%3Da`), {
    kind: 'CronTabList',
    items: [{ kind: 'CronTab' }],
  });
}

async function subresources(t: Test, call: Call): Promise<void> {
  const status = { replicas: 2, selector: 'a=b', other: 1 };
  const written = await call(
    'PATCH',
    `${objects}/a/status`,
    { status, spec: { replicas: 9 }, metadata: { labels: { x: 'y' } } },
    merge,
  );
  t.same(written.status, { replicas: 2, selector: 'a=b' });
  t.match(written, { spec: { replicas: 3 }, metadata: { labels: undefined } }, 'nothing else changes');
  t.match(await call('GET', `${objects}/a/scale`), {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    spec: { replicas: 3 },
    status: { replicas: 2, selector: 'a=b' },
  });
  t.match(await call('PATCH', `${objects}/a/scale`, { spec: { replicas: 4 } }, merge), { spec: { replicas: 4 } });
  t.match(await call('GET', `${objects}/a`), { spec: { replicas: 4 } });
  t.match(await call('PATCH', `${objects}/a/scale`, { spec: { replicas: 40 } }, merge), { code: 422 });
  t.match(await call('GET', `${objects}/a/log`), { code: 404 });
}

async function versions(t: Test, call: Call): Promise<void> {
  const beta = objects.replace('/v1/', '/v1beta1/');
  t.match(await call('GET', `${beta}/a`), { apiVersion: `${group}/v1beta1`, spec: { replicas: 4 } });
  const names = { apiVersion: `${group}/v1beta1`, kind: 'CronTab', metadata: { name: 'loose' } };
  const created = await call('POST', beta, { ...names, anything: { goes: true }, spec: { cron: '*' } });
  t.match(created, { apiVersion: `${group}/v1beta1`, spec: { cron: '*', image: 'img', replicas: 1 } });
  t.equal(created.anything, undefined, 'reads prune stored objects by the schema of the stored version');
  t.match(await call('GET', `${objects}/loose`), { apiVersion: `${group}/v1`, spec: { cron: '*', image: 'img' } });
  t.match(await call('GET', objects), {
    items: [{ metadata: { name: 'a' } }, { metadata: { name: 'loose' }, spec: { image: 'img' } }],
  });
}

async function documentation(t: Test, call: Call): Promise<void> {
  const name = 'com.example.stable.v1.CronTab';
  const v2 = await call('GET', '/openapi/v2');
  t.match(v2.definitions[name], {
    description: 'A table of times.',
    properties: {
      apiVersion: { description: /^APIVersion defines / },
      metadata: { description: /^Standard object's metadata/ },
      spec: { properties: { image: { type: 'string' } } },
    },
  });
  t.ok(v2.definitions[`${name}List`]);
  const v3 = await call('GET', `/openapi/v3/apis/${group}/v1`);
  t.match(v3.components.schemas[name], {
    properties: { spec: { properties: { note: { nullable: true }, image: { default: 'img' } } } },
  });
  t.ok(v3.paths[`/apis/${group}/v1/namespaces/{namespace}/crontabs/{name}/scale`]);
}

async function changes(t: Test, call: Call, definitions: string, dialect: Dialect): Promise<void> {
  const path = `${definitions}/crontabs.${group}`;
  const old = await call('GET', path);
  t.same(
    old.status.conditions.map((one: Json) => [one.type, one.status, one.reason]),
    [
      ['NamesAccepted', 'True', 'NoConflicts'],
      ['Established', 'True', 'InitialNamesAccepted'],
    ],
  );
  const [v1, ...others] = old.spec.versions;
  v1.schema.openAPIV3Schema.properties.spec.properties.colour = { type: 'string', default: 'red' };
  await call('PUT', path, { ...old, spec: { ...old.spec, versions: [v1, ...others] } });
  await eventually('the new schema holds', async () => (await call('GET', `${objects}/a`)).spec.colour === 'red');
  const rival = definition(dialect);
  rival.metadata.name = `rivals.${group}`;
  rival.spec.names = { ...rival.spec.names, plural: 'rivals', singular: 'rival', kind: 'Rival' };
  await call('POST', definitions, rival);
  const refused = `${definitions}/rivals.${group}`;
  await eventually('its names are refused', async () => (await call('GET', refused)).status.conditions?.length === 2);
  t.match((await call('GET', refused)).status.conditions, [
    { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: '"ct" is already in use' },
    { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
  ]);
  t.match(await call('GET', `/apis/${group}/v1/namespaces/default/rivals`), { code: 404 });
  await call('DELETE', refused);
  await eventually('it is gone', async () => (await call('GET', refused)).code === 404);
}

async function end(t: Test, call: Call, definitions: string, dialect: Dialect): Promise<void> {
  const path = `${definitions}/crontabs.${group}`;
  await call('PATCH', `${objects}/a`, { metadata: { finalizers: ['example.com/wait'] } }, merge);
  t.match(await call('POST', objects, { ...cronTab('other', {}), kind: 'Other' }), {
    code: 422,
    message: `Other.${group} "other" is invalid: kind: Invalid value: "Other": must be CronTab`,
  });
  t.match(await call('POST', objects, { ...cronTab('other', {}), apiVersion: `${group}/v9` }), {
    code: 400,
    message: `the API version in the data (${group}/v9) does not match the expected API version (${group}/v1)`,
  });
  const stored = (storedVersions: readonly string[]) =>
    call('PATCH', `${path}/status`, { status: { storedVersions } }, merge);
  t.same((await stored([])).status.storedVersions, ['v1'], 'the version that is stored cannot be left out');
  // After a faulty migration, an object that cannot be updated can still be deleted.
  t.same((await stored(['v9'])).status.storedVersions, ['v9']);
  t.match(await call('PATCH', path, { metadata: { labels: { a: 'b' } } }, merge), { code: 422 });
  t.match(await call('DELETE', path), {
    metadata: { finalizers: [dialect.finalizers.customResourceCleanup] },
    status: { conditions: [{}, {}, { type: 'Terminating', status: 'True', reason: 'InstanceDeletionPending' }] },
  });
  await eventually('only one is left', async () => (await call('GET', objects)).items.length === 1);
  t.match(await call('POST', objects, cronTab('late', {})), {
    code: 405,
    message: 'create not allowed while custom resource definition is terminating',
  });
  t.match((await call('GET', path)).status.conditions[2], {
    type: 'Terminating',
    reason: 'InstanceDeletionInProgress',
  });
  await call('PATCH', `${objects}/a`, { metadata: { finalizers: null } }, merge);
  await eventually('the definition is gone', async () => (await call('GET', path)).code === 404);
  t.match(await call('GET', objects), { code: 404 });
  t.match(await call('GET', `/apis/${group}`), { code: 404 });
}
