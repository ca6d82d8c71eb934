/** Definitions in OpenAPI documents. */
import { type Case, defined, definition } from '#test/integration/apiserver/recorded/step.js';

const group = 'documents.example.com';
const prefix = 'com.example.documents.v1';
const open = { 'x-kubernetes-preserve-unknown-fields': true };
const intOrString = { 'x-kubernetes-int-or-string': true };
const text = { type: 'string' };
const types = [{ type: 'integer' }, text];

const spec = {
  type: 'object',
  description: 'what is wanted',
  required: ['nullable', 'number'],
  properties: {
    nullable: { ...text, nullable: true, default: 'a' },
    object: { type: 'object', nullable: true, properties: { a: text } },
    list: { type: 'array', nullable: true, items: text },
    number: { type: 'integer', format: 'int32', minimum: 0, maximum: 5, exclusiveMaximum: true },
    either: intOrString,
    said: { ...intOrString, anyOf: types, pattern: 'a' },
    narrowed: { ...intOrString, anyOf: [{ pattern: 'x' }] },
    saidFirst: { ...intOrString, allOf: [{ anyOf: types }, { pattern: 'x' }] },
    kept: { type: 'object', ...open, properties: { q: text }, required: ['q'], description: 'kept' },
    keptList: { type: 'array', ...open, items: text },
    any: { ...open, description: 'anything' },
    map: { type: 'object', additionalProperties: text },
    ofAny: { type: 'object', additionalProperties: true },
    keyed: {
      type: 'array',
      items: { type: 'object', required: ['a'], properties: { a: { ...text, enum: ['x', 'y'] } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
      maxItems: 3,
    },
    inner: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
    innerKept: { type: 'object', 'x-kubernetes-embedded-resource': true, ...open },
    values: {
      type: 'object',
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
      not: { required: ['c'] },
      allOf: [{ properties: { a: { minLength: 1 } } }],
      properties: {
        a: { ...text, title: 'A', example: 'x', externalDocs: { url: 'u' } },
        b: { type: 'number', multipleOf: 2 },
      },
      minProperties: 1,
      'x-kubernetes-map-type': 'atomic',
    },
    filled: { type: 'object', default: {}, properties: { d: { type: 'boolean', default: true } } },
  },
};

const full = {
  type: 'object',
  description: 'all there is',
  required: ['spec'],
  properties: { apiVersion: text, kind: { ...text, description: 'own' }, metadata: { type: 'object' }, spec },
};

const kinds: readonly (readonly [plural: string, kind: string, schema: object])[] = [
  ['fulls', 'Full', full],
  ['opens', 'Open', { type: 'object', ...open, description: 'open', properties: { spec: { type: 'object' } } }],
  ['bares', 'Bare', { type: 'object' }],
];

const names = kinds.flatMap(([, kind]) => [`${prefix}.${kind}`, `${prefix}.${kind}List`]);

export const documents: Case = {
  name: 'documents',
  steps: [
    ...kinds.flatMap(([plural, kind, schema]) => defined(group, plural, definition(group, plural, kind, [{ schema }]))),
    ...names.map((name) => ({ method: 'GET', path: '/openapi/v2', until: `"${name}"` }) as const),
    { method: 'GET', path: '/openapi/v2', parts: names.map((name) => ['definitions', name]) },
    ...names.map((name) => ({ method: 'GET', path: `/openapi/v3/apis/${group}/v1`, until: `"${name}"` }) as const),
    {
      method: 'GET',
      path: `/openapi/v3/apis/${group}/v1`,
      parts: names.map((name) => ['components', 'schemas', name]),
    },
  ],
};
