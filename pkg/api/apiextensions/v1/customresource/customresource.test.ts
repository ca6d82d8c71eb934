/** Rules of custom objects, one by one. */
import t from 'tap';
import { cellsOf } from '#api/apiextensions/v1/customresource/columns.js';
import {
  fillCustomDefaults,
  maxDefaultBytes,
  missingDefaults,
} from '#api/apiextensions/v1/customresource/defaulting.js';
import { JsonPath, Visits } from '#api/apiextensions/v1/customresource/json-path.js';
import { listItemSteps } from '#api/apiextensions/v1/customresource/list-items.js';
import { pruneObject, wouldPrune } from '#api/apiextensions/v1/customresource/pruning.js';
import { scaleParts, validateScaleSpec, validateScaleStatus } from '#api/apiextensions/v1/customresource/scale.js';
import { validateEmbedded } from '#api/apiextensions/v1/structural/embedded-resources.js';
import { Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { JSONSchemaProps } from '#api/apiextensions/v1/types.gen.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';

const object = (properties: Record<string, JSONSchemaProps>, more: Partial<JSONSchemaProps> = {}): JSONSchemaProps => ({
  type: 'object',
  properties,
  ...more,
});
const text: JSONSchemaProps = { type: 'string' };
const open = { 'x-orch-preserve-unknown-fields': true } as const;
const messagesOf = (failures: readonly FieldFailure[]) => failures.map(({ field, message }) => `${field}: ${message}`);

t.test('pruning drops undeclared members', (t) => {
  const rows: [name: string, schema: JSONSchemaProps, value: object, left: object, dropped: string[]][] = [
    ['unknown members go', object({ a: text }), { a: 'x', b: 1 }, { a: 'x' }, ['b']],
    [
      'those of the API stay',
      object({}),
      { kind: 'K', apiVersion: 'v', metadata: { x: 1 } },
      { kind: 'K', apiVersion: 'v', metadata: { x: 1 } },
      [],
    ],
    [
      'in lists',
      object({ l: { type: 'array', items: object({ a: text }) } }),
      { l: [{ a: 'x', b: 1 }, { c: 1 }] },
      { l: [{ a: 'x' }, {}] },
      ['l[0].b', 'l[1].c'],
    ],
    [
      'in maps',
      object({ m: { type: 'object', additionalProperties: object({ a: text }) } }),
      { m: { k: { a: 'x', b: 1 } } },
      { m: { k: { a: 'x' } } },
      ['m.k.b'],
    ],
    [
      'what asks to be kept is',
      object({ o: object({ p: object({}) }, open) }),
      { o: { q: { r: 1 }, p: { s: 1 } } },
      { o: { q: { r: 1 }, p: {} } },
      ['o.p.s'],
    ],
    [
      'objects inside have members of their own',
      object({ e: object({}, { 'x-orch-embedded-resource': true }) }),
      { e: { kind: 'K', x: 1 } },
      { e: { kind: 'K' } },
      ['e.x'],
    ],
    [
      'of a name that objects have',
      object({}),
      JSON.parse('{"__proto__":{"a":1},"constructor":1}'),
      {},
      ['__proto__', 'constructor'],
    ],
  ];
  for (const [name, schema, value, left, dropped] of rows) {
    const structural = new Structural(schema, dialect);
    const paths: string[] = [];
    t.equal(wouldPrune(value, structural), dropped.length > 0, name);
    pruneObject(value, structural, (path) => paths.push(path));
    t.strictSame(value, left, name);
    t.same(paths, dropped, name);
    t.notOk(wouldPrune(value, structural), `${name}: idempotent`);
  }
  t.end();
});

t.test('absent members and invalid nulls get defaults', (t) => {
  const inner = object({ b: { ...text, default: 'B' } });
  const rows: [name: string, schema: JSONSchemaProps, value: object, filled: object][] = [
    ['of a member', object({ a: { ...text, default: 'A' } }), {}, { a: 'A' }],
    ['not of one that is set', object({ a: { ...text, default: 'A' } }), { a: '' }, { a: '' }],
    ['not below what is absent', object({ a: inner }), {}, {}],
    ['below what is there', object({ a: inner }), { a: {} }, { a: { b: 'B' } }],
    ['below a default', object({ a: { ...inner, default: {} } }), {}, { a: { b: 'B' } }],
    [
      'in lists and maps',
      object({ l: { type: 'array', items: inner }, m: { type: 'object', additionalProperties: inner } }),
      { l: [{}], m: { k: {} } },
      { l: [{ b: 'B' }], m: { k: { b: 'B' } } },
    ],
    ['instead of a null', object({ a: { ...text, default: 'A' } }), { a: null }, { a: 'A' }],
    ['a null that may be stays', object({ a: { ...text, default: 'A', nullable: true } }), { a: null }, { a: null }],
    ['a null that may not be goes', object({ a: text }), { a: null }, {}],
    ['an undeclared null stays', object({}, open), { a: null }, { a: null }],
  ];
  for (const [name, schema, value, filled] of rows) {
    const structural = new Structural(schema, dialect);
    const changes = JSON.stringify(value) !== JSON.stringify(filled);
    t.equal(missingDefaults(value, structural).any, changes, name);
    fillCustomDefaults(value, structural);
    t.strictSame(value, filled, name);
    t.notOk(missingDefaults(value, structural).any, `${name}: idempotent`);
  }
  const schema = new Structural(object({ a: { ...inner, default: { c: [1] } } }), dialect);
  const [one, other] = [{}, {}] as { a?: { c: number[] } }[];
  fillCustomDefaults(one, schema);
  one?.a?.c.push(2);
  fillCustomDefaults(other, schema);
  t.same(other, { a: { b: 'B', c: [1] } }, 'objects do not share a default');
  const applied = { a: null, b: null };
  fillCustomDefaults(applied, new Structural(object({ a: text, b: { ...text, default: 'B' } }), dialect), 'keep nulls');
  t.strictSame(applied, { a: null, b: 'B' }, 'applied values keep invalid nulls for validation');
  t.end();
});

t.test('defaults add a limited number of bytes', (t) => {
  const listOf = (count: number) => ({ list: Array.from({ length: count }, () => ({})) });
  const items = (properties: Record<string, JSONSchemaProps>) =>
    new Structural(object({ list: { type: 'array', items: object(properties) } }), dialect);
  const long = items({ b: { ...text, default: 'x'.repeat(1000) } });
  const few = listOf(1000);
  const before = JSON.stringify(few).length;
  const { bytes } = missingDefaults(few, long);
  fillCustomDefaults(few, long);
  const added = JSON.stringify(few).length - before;
  t.ok(Math.abs(bytes - added) <= 1000, `${bytes} bytes measured, ${added} added`);
  const tooLarge = { message: `defaults add more than ${maxDefaultBytes} bytes` };
  const many = listOf(2000);
  t.ok(missingDefaults(many, long).bytes > maxDefaultBytes, 'the measure exceeds the bound');
  t.same(many, listOf(2000), 'and changes nothing');
  t.throws(() => fillCustomDefaults(many, long), tooLarge);
  const inner = object({ c: { ...text, default: 'x'.repeat(1000) } });
  const nested = items({ b: { type: 'array', items: inner, default: Array.from({ length: 100 }, () => ({})) } });
  t.ok(missingDefaults(listOf(20), nested).bytes > maxDefaultBytes, 'defaults within defaults count');
  t.throws(() => fillCustomDefaults(listOf(20), nested), tooLarge, 'defaults within defaults are bounded');
  const nulls = { list: Array.from({ length: 2000 }, () => null) };
  const nullable = new Structural(
    object({ list: { type: 'array', items: { ...object({}), default: { a: 'x'.repeat(1000) } } } }),
    dialect,
  );
  t.throws(() => fillCustomDefaults(nulls, nullable), tooLarge, 'defaults for nulls count');
  t.ok(missingDefaults({ list: [null, null] }, nullable).bytes > 2000, 'defaults for nulls are measured');
  t.end();
});

t.test('JSON paths select the values of 1.24', (t) => {
  const value = {
    a: { b: 1, 'c.d': 2, 'e/f': 3 },
    l: [
      { type: 'X', n: 1 },
      { type: 'Ready', n: 2 },
      { type: 'Ready', n: 3, on: true },
    ],
  };
  const rows: [path: string, expected: unknown][] = [
    ['.a.b', 1],
    ['{.a.b}', 1],
    ['.a.x', undefined],
    ['.a.x.y', undefined],
    [".a['c.d']", undefined],
    [".a['c\\.d']", 2],
    ['.a.c\\.d', 2],
    ['.a.e/f', 3],
    ['.l[1].n', 2],
    ['.l[-1].n', 3],
    ['.l[7].n', undefined],
    ['.l[*].n', 1],
    ['.l[?(@.type=="Ready")].n', 2],
    ['.l[?(@.type == "Ready")].n', 2],
    ['.l[?(@.on==true)].n', 3],
    ['.l[?(@.n!=1)].type', 'Ready'],
    ['.constructor', undefined],
    ['][', undefined],
    ['', value],
  ];
  for (const [path, expected] of rows) t.strictSame(new JsonPath(path).first(value), expected, path);
  t.end();
});

t.test('paths of a row visit a limited number of values', (t) => {
  let nested: object = {};
  for (let i = 0; i < 40; i++) nested = { a: nested, b: nested };
  const deep = '..a'.repeat(10);
  t.throws(() => new JsonPath(deep).first(nested), { message: /paths visit more than 500000 values/ }, deep);
  const unions = "['a','a']".repeat(50);
  let chain: object = {};
  for (let i = 0; i < 60; i++) chain = { a: chain };
  t.throws(() => new JsonPath(unions).first(chain), { message: /visit more than/ }, 'unions multiply');
  const visits = new Visits();
  const list = Array.from({ length: 1000 }, (_, i) => ({ n: i }));
  t.throws(
    () => {
      for (let i = 0; i < 1000; i++) new JsonPath('[*].n').first(list, visits);
    },
    { message: /visit more than/ },
    'all columns count together',
  );
  const large = { metadata: { name: 'a' }, text: 'x'.repeat(100_000) };
  const column = { name: 'c', type: 'string', jsonPath: '.text' };
  t.equal(cellsOf(Array.from({ length: 10 }, () => column))(large, 0).length, 11);
  t.throws(
    () => cellsOf(Array.from({ length: 20 }, () => column))(large, 0),
    { message: /the cells of a row have more than/ },
    'cells have a limited size',
  );
  t.end();
});

t.test('columns show the values at their paths', (t) => {
  const column = (type: string, jsonPath: string) => ({ name: 'c', type, jsonPath });
  const now = Date.parse('2026-01-01T00:01:30Z');
  const value = {
    metadata: { name: 'n', creationTimestamp: '2026-01-01T00:00:00Z' },
    s: { i: 1.9, t: 'x', o: { a: 1 }, f: false, n: null },
  };
  t.same(cellsOf(undefined)(value, now), ['n', '90s']);
  const all = cellsOf([
    column('integer', '.s.i'),
    column('number', '.s.i'),
    column('integer', '.s.t'),
    column('string', '.s.o'),
    column('string', '.s.i'),
    column('boolean', '.s.f'),
    column('date', '.metadata.creationTimestamp'),
    column('date', '.s.t'),
    column('string', '.s.none'),
    column('string', '.s.n'),
    column('integer', '.s.n'),
  ]);
  t.same(all(value, now), ['n', 1, 1.9, null, '{"a":1}', '1.9', false, '90s', '<invalid>', null, '<no value>', null]);
  t.end();
});

t.test('elements of sets and keys of maps must be unique', (t) => {
  const named = object({ name: text, port: { type: 'integer', default: 80 } });
  const schema = new Structural(
    object({
      set: { type: 'array', items: text, 'x-orch-list-type': 'set' },
      map: { type: 'array', items: named, 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['name', 'port'] },
      any: { type: 'array', items: text },
    }),
    dialect,
  );
  const wrong = {
    set: ['a', 'b', 'a'],
    map: [{ name: 'x', port: 80 }, { name: 'x' }, { name: 'x', port: 81 }],
    any: ['a', 'a'],
  };
  t.same(messagesOf(allSteps(listItemSteps(wrong, undefined, schema))), [
    'set[2]: Duplicate value: "a"',
    'map[1]: Duplicate value: map[string]interface {}{"name":"x", "port":80}',
  ]);
  t.same(allSteps(listItemSteps(wrong, { set: ['b', 'b'] }, schema)), [], 'stored duplicates are tolerated');
  t.equal(allSteps(listItemSteps(wrong, { set: ['a', 'b'] }, schema)).length, 2);
  t.end();
});

t.test('embedded objects need a kind and valid metadata', (t) => {
  const schema = new Structural(object({ e: object({}, { 'x-orch-embedded-resource': true, ...open }) }), dialect);
  t.same(messagesOf(validateEmbedded({ e: {} }, schema, dialect)), [
    'e.apiVersion: Required value: must not be empty',
    'e.kind: Required value: must not be empty',
  ]);
  t.same(validateEmbedded({ e: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } } }, schema, dialect), []);
  const labels = { '-': 'x' };
  const [failure] = validateEmbedded({ e: { apiVersion: 'v1', kind: 'Pod', metadata: { labels } } }, schema, dialect);
  t.equal(failure?.field, 'e.metadata.labels');
  t.end();
});

t.test('a scale reads and writes the declared paths', (t) => {
  const scale = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.s' };
  t.same(scaleParts(scale), {
    specReplicas: ['spec', 'n'],
    statusReplicas: ['status', 'n'],
    selector: ['status', 's'],
  });
  const validate = (object: object) =>
    messagesOf([...validateScaleSpec(object, scale), ...validateScaleStatus(object, scale)]);
  t.same(validate({ spec: { n: 1 }, status: { s: 'a=b' } }), []);
  t.same(validate({ status: { s: '!!' } }), [], 'the text of a selector is not validated');
  t.same(validate({ spec: { n: -1 }, status: { n: 2 ** 31, s: 5 } }), [
    '.spec.n: Invalid value: -1: should be a non-negative integer',
    '.status.n: Invalid value: 2147483648: should be less than or equal to 2147483647',
    '.status.s: Invalid value: "": .status.s accessor error: 5 is of the type int64, expected string',
  ]);
  t.same(validate({ spec: { n: 1.5 }, status: 'x' }), [
    '.spec.n: Invalid value: 0: .spec.n accessor error: 1.5 is of the type float64, expected int64',
    '.status.n: Invalid value: 0: .status.n accessor error: x is of the type string, expected map[string]interface{}',
    '.status.s: Invalid value: "": .status.s accessor error: x is of the type string, expected map[string]interface{}',
  ]);
  t.end();
});
