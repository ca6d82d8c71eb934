/** Unknown members that custom objects keep, and metadata of embedded objects. */
import { type Case, defined, definition, merged, type Step } from '#test/integration/apiserver/recorded/step.js';

const group = 'preserved.example.com';
const objects = `/apis/${group}/v1/namespaces/default/boxes`;
const open = { 'x-kubernetes-preserve-unknown-fields': true };
const resource = { type: 'object', 'x-kubernetes-embedded-resource': true };
const text = { type: 'string' };
const named = { type: 'object', properties: { k: text, in: { type: 'object', properties: { a: text } } } };

const schema = {
  type: 'object',
  properties: {
    list: { type: 'array', ...open, items: named },
    lists: { type: 'array', ...open, items: { type: 'array', items: named } },
    object: {
      type: 'object',
      ...open,
      properties: { list: { type: 'array', items: named }, inner: named },
    },
    map: { type: 'object', additionalProperties: true },
    inner: { ...resource, ...open },
    inners: { type: 'array', items: { ...resource, properties: { spec: named } } },
    byName: { type: 'object', additionalProperties: { ...resource, ...open } },
  },
};

function create(name: string, members: object, metadata: object = {}): Step {
  const body = { apiVersion: `${group}/v1`, kind: 'Box', metadata: { name, ...metadata }, ...members };
  return { method: 'POST', path: `${objects}?fieldValidation=Ignore`, body };
}

/** Managers of fields that the definition's type lacks are not compared. */
const read = (name: string): Step => ({ method: 'GET', path: `${objects}/${name}` });

const element = { k: 'a', u: 1, in: { a: 'x', b: 1 } };
const inner = { apiVersion: 'v1', kind: 'Inner', metadata: { name: 'inner' }, spec: { k: 'a', u: 1 } };
const full = {
  ...inner,
  metadata: {
    ...inner.metadata,
    bogus: 1,
    Name: 'y',
    creationTimestamp: null,
    labels: {},
    annotations: { a: 'b' },
    finalizers: [],
    generation: 0,
    ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'a', bogus: 1 }],
  },
};

const wrong: readonly object[] = [
  { kind: 5 },
  { apiVersion: null },
  { metadata: 'x' },
  { metadata: null },
  { metadata: [] },
  { metadata: { labels: 5 } },
  { metadata: { labels: { a: 5 } } },
  { metadata: { creationTimestamp: 'yesterday' } },
  { metadata: { creationTimestamp: '2020-01-01T01:02:03.5+02:00' } },
  { metadata: { generation: 1.5 } },
  { metadata: { name: 5 } },
  { kind: '' },
  { kind: 'no kind' },
  { apiVersion: 'a/b/c' },
];

const wrongOfObject: readonly object[] = [
  { labels: 5 },
  { labels: { a: 5 } },
  { annotations: 'x' },
  { finalizers: 'x' },
  { creationTimestamp: 'x' },
  { generation: 'x' },
];

export const preserved: Case = {
  name: 'preserved',
  steps: [
    ...defined(group, 'boxes', definition(group, 'boxes', 'Box', [{ schema }])),
    create('object', { object: { list: [element], inner: element, x: { y: 1 } } }),
    create('map', { map: { a: { b: 1 }, c: [{ d: 1 }], e: 1 } }),
    create('inner', { inner: full, inners: [full], byName: { a: full } }, { bogus: 1 }),
    ...wrong.map((change, i) => create(`wrong-${i}`, { inner: { ...inner, ...change } })),
    ...wrongOfObject.map((metadata, i) => create(`metadata-${i}`, {}, metadata)),
    create('paths', { byName: { a: { ...inner, metadata: { name: 'inner', labels: { '-': 'x' } } } } }),
    read('inner'),
    merged(`${objects}/inner`, 'a', { inner: { metadata: { labels: { b: 'c' }, more: 1 } } }),
    merged(`${objects}/inner`, 'a', { inner: { metadata: null } }),
  ],
};
