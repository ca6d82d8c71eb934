import t from 'tap';
import { foreignDocument } from '#apiserver/aggregation/foreign-document.js';
import { mergeDocuments } from '#apiserver/aggregation/remote-documents.js';
import { withFreeNames } from '#apiserver/openapi/aggregated-documents.js';

const remote = { group: 'a.example.com', version: 'v1' };
const ref = (name: string) => ({ $ref: `#/definitions/${name}` });
const get = (name: string) => ({
  get: { operationId: name, responses: { 200: { description: 'OK', schema: ref(name) } } },
});
const document = (definitions: object, paths: object = {}) => ({ swagger: '2.0', definitions, paths });

t.test('a document is reduced to one version', async (t) => {
  const reduced = foreignDocument(
    {
      ...document(
        {
          One: {
            type: 'object',
            properties: { two: ref('Two'), more: { type: 'array', items: { type: 'string', oddity: 1 } } },
            'x-kubernetes-group-version-kind': [
              { ...remote, kind: 'One' },
              { group: 'apps', version: 'v1', kind: 'Deployment' },
              null,
            ],
            required: ['two', 7],
          },
          Two: { allOf: [ref('Three'), ref('Nowhere')], additionalProperties: { type: ['string'] } },
          Three: { additionalProperties: true, default: {}, enum: [1], format: 'odd', description: 'The third.' },
          Unused: {},
        },
        {
          '/apis/a.example.com/v1/ones': {
            ...get('One'),
            parameters: [
              { $ref: '#/parameters/pretty' },
              { name: 'h', in: 'header' },
              { name: 'b', in: 'body', schema: ref('One'), required: true },
            ],
            trace: {},
          },
          '/apis/a.example.com/v1beta1/ones': get('Unused'),
          '/apis/apps/v1/deployments': get('Unused'),
        },
      ),
      parameters: { pretty: { name: 'pretty', in: 'query', type: 'string', uniqueItems: true } },
      securityDefinitions: {},
    },
    remote,
  );
  t.same(Object.keys(reduced.paths), ['/apis/a.example.com/v1/ones']);
  t.same(reduced.paths['/apis/a.example.com/v1/ones']?.['parameters'], [
    { name: 'pretty', in: 'query', uniqueItems: true, type: 'string' },
    { name: 'b', in: 'body', required: true, schema: ref('One') },
  ]);
  t.same(Object.keys(reduced.definitions).sort(), ['One', 'Three', 'Two']);
  t.same(reduced.definitions['One'], {
    type: 'object',
    properties: { two: ref('Two'), more: { type: 'array', items: { type: 'string' } } },
    'x-kubernetes-group-version-kind': [{ ...remote, kind: 'One' }],
    required: ['two'],
  });
});

t.test('invalid documents', async (t) => {
  let deep: object = { type: 'string' };
  for (let i = 0; i < 100; i++) deep = { items: deep };
  const at = '/apis/a.example.com/v1';
  const rows: readonly [value: unknown, why: RegExp][] = [
    [null, /not an object/],
    [[], /not an object/],
    [{}, /OpenAPI 2.0/],
    [{ swagger: '3.0' }, /OpenAPI 2.0/],
    [document([]), /definitions is not an object/],
    [document({}, { [at]: 7 }), /a path is not an object/],
    [document({}, { [at]: { get: [] } }), /an operation is not an object/],
    [document({}, { [at]: { get: { responses: { 200: '' } } } }), /a response is not an object/],
    [document({}, { [at]: { parameters: {} } }), /expected a list/],
    [document({ One: deep }, { [at]: get('One') }), /nested more than 64 times/],
    [document({ One: 'x' }, { [at]: get('One') }), /a schema is not an object/],
  ];
  for (const [value, why] of rows) t.throws(() => foreignDocument(value, remote), { message: why });
  const proto = JSON.parse(`{"swagger":"2.0","definitions":{"__proto__":{"type":"object"}},
    "paths":{"${at}":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/__proto__"}}}}}}}`) as unknown;
  t.doesNotThrow(() => foreignDocument(proto, remote));
  t.equal(({} as Record<string, unknown>)['type'], undefined);
});

t.test('documents are merged', async (t) => {
  const kind = (name: string) => ({ 'x-kubernetes-group-version-kind': [{ kind: name }] });
  const own = {
    swagger: '2.0',
    paths: { '/apis/own': {} },
    definitions: { Meta: { type: 'object' }, Status: { type: 'object', ...kind('Status') } },
  };
  const other = {
    paths: { '/apis/a': get('One'), '/apis/own': get('One') },
    definitions: {
      Meta: { type: 'string' },
      Status: { type: 'object', ...kind('Other') },
      One: { properties: { meta: ref('Meta'), itself: ref('One') } },
    },
  };
  const third = { paths: {}, definitions: { Meta: { type: 'number' }, One: { items: ref('Meta') } } };
  const merged = mergeDocuments(own, [other as never, third as never]) as unknown as typeof own;
  t.same(merged, {
    swagger: '2.0',
    paths: { '/apis/own': {}, '/apis/a': get('One') },
    definitions: {
      Meta: { type: 'object' },
      Meta_v2: { type: 'string' },
      Meta_v3: { type: 'number' },
      Status: { type: 'object', 'x-kubernetes-group-version-kind': [{ kind: 'Status' }, { kind: 'Other' }] },
      One: { properties: { meta: ref('Meta_v2'), itself: ref('One') } },
      One_v2: { items: ref('Meta_v3') },
    },
  });
  t.same(own.definitions.Status, { type: 'object', ...kind('Status') }, 'the own document is unchanged');
  t.equal(mergeDocuments(own, []), own);
});

t.test('conflicting names are renamed', async (t) => {
  const part = { paths: { '/a': get('One') }, definitions: { One: { items: ref('Two') }, Two: {}, One_v2: {} } };
  t.same(withFreeNames(part as never, new Set(['One', 'Other'])), {
    paths: { '/a': { get: { operationId: 'One', responses: { 200: { description: 'OK', schema: ref('One_v3') } } } } },
    definitions: { One_v3: { items: ref('Two') }, Two: {}, One_v2: {} },
  });
});
