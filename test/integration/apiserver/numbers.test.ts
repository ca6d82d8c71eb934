/** Numbers that exceed doubles or are integers in other notations, through every input and output of the server. */
import t, { type Test } from 'tap';
import { statusOf } from '#apimachinery/errors/status.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { eventually } from '#test/e2e/harness.js';

/** The response's text, or the failure's code and message. */
type Call = (method: string, path: string, body?: string, type?: string, accept?: string) => Promise<string>;

const json = 'application/json';
const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const apply = 'application/apply-patch+yaml';
const yaml = 'application/yaml';

const group = 'numbers.example.com';
const things = `/apis/${group}/v1/namespaces/default/things`;
const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
const pods = '/api/v1/namespaces/default/pods?dryRun=All';

const largest = '9223372036854775807';
const smallest = '-9223372036854775808';
const odd = '9007199254740993';

const thing = (name: string, spec: string) =>
  `{"apiVersion":"${group}/v1","kind":"Thing","metadata":{"name":"${name}"},"spec":${spec}}`;
const revision = (name: string, number: string) =>
  `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"${name}"},"revision":${number},"data":{"n":${number}}}`;

function definition(): string {
  const x = 'x-kubernetes-';
  const integer = { type: 'integer' };
  const properties = {
    i: integer,
    n: { type: 'number' },
    small: { type: 'integer', maximum: 100 },
    tens: { type: 'integer', multipleOf: 10 },
    one: { type: 'integer', enum: ['@'] },
    set: { type: 'array', [`${x}list-type`]: 'set', items: integer },
    map: {
      type: 'array',
      [`${x}list-type`]: 'map',
      [`${x}list-map-keys`]: ['k'],
      items: { type: 'object', required: ['k'], properties: { k: integer, v: integer } },
    },
    any: { [`${x}preserve-unknown-fields`]: true },
    ordered: {
      type: 'object',
      properties: { low: integer, high: integer },
      [`${x}validations`]: [{ rule: `self.low < self.high && self.high <= ${largest}` }],
    },
    given: { type: 'integer', default: '@' },
  };
  const schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const columns = [
    { name: 'I', type: 'integer', jsonPath: '.spec.i' },
    { name: 'S', type: 'string', jsonPath: '.spec.i' },
    { name: 'Set', type: 'string', jsonPath: '.spec.set' },
  ];
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    additionalPrinterColumns: columns,
    schema: { openAPIV3Schema: schema },
  };
  const spec = { group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions: [version] };
  const object = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec,
  };
  return JSON.stringify(object).replaceAll('"@"', odd);
}

t.test('numbers keep their values', { timeout: 300_000 }, async (t) => {
  const cluster = await startCluster({
    dialect: 'kubernetes',
    nodes: 0,
    featureGates: { CustomResourceValidationExpressions: true },
  });
  t.teardown(() => cluster.close());
  const client = cluster.clientAs('admin', ['system:masters']);
  const call: Call = async (method, path, body, contentType = json, accept = json) => {
    try {
      const response = await client.open({ method, path, body, contentType, accept });
      const parts: Buffer[] = [];
      for await (const part of response.body) parts.push(part as Buffer);
      return Buffer.concat(parts).toString();
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      return `${status.code} ${status.message}`;
    }
  };
  const created = await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition());
  t.match(created, `"default":${odd}`, 'the default keeps its spelling');
  await eventually('it is served', async () => (await call('GET', `/apis/${group}/v1`)).includes('APIResourceList'));
  await t.test('custom objects', (t) => customObjects(t, call));
  await t.test('patches of custom objects', (t) => customPatches(t, call));
  await t.test('lists, watches and tables', (t) => representations(t, call));
  await t.test('numbers in schemas', (t) => schemas(t, call));
  await t.test('built-in kinds', (t) => builtIn(t, call));
  await t.test('patches of built-in kinds', (t) => builtInPatches(t, call));
  await t.test('clients of this project', async (t) => {
    const path = `${things}/of-client`;
    await call('POST', things, thing('of-client', `{"any":${largest}}`));
    const object = await cluster.client.request<{ spec: { any: unknown; copy?: unknown } }>('GET', path);
    t.equal(object.spec.any, BigInt(largest));
    object.spec.copy = [object.spec.any];
    object.spec.any = { copy: object.spec.any };
    await cluster.client.request('PUT', path, object);
    t.match(await call('GET', path), `"any":{"copy":${largest}}`, 'an unchanged object keeps its number');
  });
});

async function customObjects(t: Test, call: Call): Promise<void> {
  const same = ['0', '-1', '9007199254740991', '9007199254740992', odd, `-${odd}`, largest, smallest, '0.1', '1e-7'];
  const otherwise: [string, string][] = [
    ['1.0', '1'],
    ['1e0', '1'],
    ['1E2', '100'],
    ['-0', '0'],
    ['0.10', '0.1'],
    ['1e21', '1e+21'],
    ['9223372036854775808', '9223372036854776000'],
    ['9007199254740993.0', '9007199254740992'],
  ];
  const all = [...same.map((text) => [text, text] as const), ...otherwise];
  for (const [i, [given, kept]] of all.entries()) {
    const spec = `"spec":{"any":{"a":[${kept}],"b":${kept}},"given":${odd}}`;
    const body = thing(`c${i}`, `{"any":{"a":[${given}],"b":${given}}}`);
    t.match(await call('POST', things, body), spec, `${given} in JSON`);
    t.match(await call('GET', `${things}/c${i}`), spec, `${given}, read again`);
    const document = `apiVersion: ${group}/v1\nkind: Thing\nmetadata: {name: y${i}}\nspec:\n  any: {a: [${given}], b: ${given}}\n`;
    t.match(await call('POST', things, document, yaml), spec, `${given} in YAML`);
  }
  t.match(await call('GET', `${things}/c6`, undefined, json, yaml), `- ${largest}\n    b: ${largest}\n  given: ${odd}`);
  t.match(await call('GET', `${things}/c6?pretty=true`), `"b": ${largest}`);
  t.equal(
    await call('POST', things, thing('huge', '{"any":1e400}')),
    '400 Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal number 1e400 into Go value of type float64',
  );
}

async function customPatches(t: Test, call: Call): Promise<void> {
  const path = `${things}/p`;
  await call('POST', things, thing('p', `{"any":{"old":${largest}}}`));
  t.match(await call('PATCH', path, `{"spec":{"i":${odd}}}`, merge), `"i":${odd}`, 'a merge patch');
  t.match(await call('GET', path), `"old":${largest}`, 'unnamed fields are unchanged');
  const operations = `[{"op":"test","path":"/spec/i","value":${odd}},{"op":"add","path":"/spec/any/new","value":${smallest}},{"op":"copy","from":"/spec/any/old","path":"/spec/any/copy"}]`;
  t.match(await call('PATCH', path, operations, jsonPatch), `{"old":${largest},"new":${smallest},"copy":${largest}}`);
  const wrong = '[{"op":"test","path":"/spec/i","value":9007199254740992}]';
  t.match(await call('PATCH', path, wrong, jsonPatch), /^422 /, 'its neighbour is another number');
  const version = /"resourceVersion":"[0-9]+"/.exec(await call('GET', path))?.[0];
  t.match(await call('PATCH', path, `{"spec":{"i":${odd}}}`, merge), version, 'nothing changes');

  const applied = (spec: string) => thing('a', spec);
  const as = (manager: string) => `${things}/a?fieldManager=${manager}`;
  const first = await call(
    'PATCH',
    as('one'),
    applied(`{"i":${odd},"set":[${odd}],"map":[{"k":${odd},"v":1}]}`),
    apply,
  );
  t.match(first, `"f:set":{"v:${odd}":{}}`);
  t.match(first, `"k:{\\"k\\":${odd}}":`);
  const second = await call(
    'PATCH',
    as('two'),
    applied(`{"set":[${largest}],"map":[{"k":${largest},"v":${odd}}]}`),
    apply,
  );
  t.match(second, `"set":[${odd},${largest}],"map":[{"k":${odd},"v":1},{"k":${largest},"v":${odd}}]`);
  t.match(
    await call('PATCH', as('two'), applied('{"i":9007199254740992}'), apply),
    /^409 .*conflict with "one": \.spec\.i/,
  );
  t.match(
    await call('PATCH', as('one'), applied('{}'), apply),
    `"set":[${largest}],"map":[{"k":${largest},"v":${odd}}]`,
    'fields without an owner are removed',
  );
}

async function representations(t: Test, call: Call): Promise<void> {
  await call('POST', things, thing('shown', `{"i":${largest},"set":[${odd},${smallest}]}`));
  t.match(await call('GET', things), `"spec":{"i":${largest},"set":[${odd},${smallest}],"given":${odd}}`);
  t.match(await call('GET', `${things}?pretty=1`), `"i": ${largest}`);
  t.match(await call('GET', things, undefined, json, yaml), `i: ${largest}`);
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  t.match(
    await call('GET', `${things}/shown`, undefined, json, table),
    `"cells":["shown",${largest},"${largest}","[${odd},${smallest}]"]`,
  );
  const watch = `${things}?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name=shown`;
  t.match(await call('GET', watch), `"i":${largest}`);
}

async function schemas(t: Test, call: Call): Promise<void> {
  const refused: [string, RegExp][] = [
    [`{"small":${largest}}`, /spec.small: Invalid value: 9223372036854775807: .*should be less than or equal to 100$/],
    [`{"tens":${largest}}`, /spec.tens: Invalid value: 9223372036854775807: .*should be a multiple of 10$/],
    ['{"one":9007199254740992}', /Unsupported value: 9007199254740992: supported values: "9007199254740993"/],
    ['{"i":9223372036854775808}', /must be of type integer: "number"/],
    ['{"i":0.1}', /must be of type integer: "number"/],
    [`{"set":[${odd},${odd}]}`, /spec.set\[1\]: Duplicate value: 9007199254740993$/],
    [
      `{"map":[{"k":${odd}},{"k":${odd}}]}`,
      /Duplicate value: map\[string\]interface {}{"k":9007199254740993}|Duplicate value: {"k":9007199254740993}/,
    ],
    [`{"ordered":{"low":${odd},"high":9007199254740992}}`, /failed rule/],
  ];
  for (const [spec, message] of refused) t.match(await call('POST', things, thing('no', spec)), message, spec);
  const accepted = [
    `{"tens":9223372036854775800}`,
    `{"one":${odd}}`,
    `{"set":[9007199254740992,${odd}]}`,
    `{"map":[{"k":9007199254740992},{"k":${odd}}]}`,
    `{"ordered":{"low":9007199254740992,"high":${odd}}}`,
    `{"ordered":{"low":${smallest},"high":${largest}}}`,
  ];
  for (const [i, spec] of accepted.entries()) {
    t.match(await call('POST', things, thing(`yes${i}`, spec)), `"spec":${spec.slice(0, -1)}`, spec);
  }
}

async function builtIn(t: Test, call: Call): Promise<void> {
  for (const [i, number] of ['9007199254740992', odd, largest].entries()) {
    const both = `"revision":${number},"data":{"n":${number}}`;
    t.match(await call('POST', revisions, revision(`r${i}`, number)), both);
    t.match(await call('GET', `${revisions}/r${i}`), both);
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const response = await call('GET', `${revisions}/r${i}`, undefined, json, protobuf);
    t.match(response, `{"n":${number}}`, 'raw values in Protobuf');
  }
  const pod = (field: string) =>
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],${field}}}`;
  for (const number of ['1.0', '1e0', '1E2', '9223372036854775808', '18446744073709551616', '1e400', '0.1', '0.10']) {
    const refusal = `json: cannot unmarshal number ${number} into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64`;
    const message = `400 Pod in version "v1" cannot be handled as a Pod: ${refusal}`;
    t.equal(await call('POST', pods, pod(`"activeDeadlineSeconds":${number}`)), message);
    t.equal(
      await call('POST', pods, pod(`"priority":${number}`)),
      message.replace('activeDeadlineSeconds', 'priority').replace('int64', 'int32'),
    );
  }
  t.match(
    await call(
      'POST',
      pods,
      pod(`"tolerations":[{"operator":"Exists","effect":"NoExecute","tolerationSeconds":${largest}}]`),
    ),
    `"tolerationSeconds":${largest}`,
  );
}

async function builtInPatches(t: Test, call: Call): Promise<void> {
  await call('POST', revisions, revision('p', '1'));
  const path = `${revisions}/p`;
  let number = BigInt(odd);
  const ways: [string, (text: string) => string][] = [
    [merge, (text) => `{"revision":${text}}`],
    [strategic, (text) => `{"revision":${text}}`],
    [jsonPatch, (text) => `[{"op":"replace","path":"/revision","value":${text}}]`],
    [
      apply,
      (text) => `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"p"},"revision":${text}}`,
    ],
  ];
  for (const [type, body] of ways) {
    const target = type === apply ? `${path}?fieldManager=a&force=true` : path;
    number += 2n;
    t.match(await call('PATCH', target, body(String(number)), type), `"revision":${number}`, type);
    t.match(await call('GET', path), `"revision":${number}`, type);
    if (type === merge || type === jsonPatch) {
      t.match(await call('PATCH', target, body('10.0'), type), /^422 .*cannot unmarshal number 10.0 into/, type);
    } else t.match(await call('PATCH', target, body('9e15'), type), '"revision":9000000000000000', type);
  }
}
