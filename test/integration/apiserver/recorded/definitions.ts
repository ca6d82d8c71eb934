/** Valid and invalid definitions, their objects, and definitions stored as v1beta1. */
import { type Case, defined, definition, type Step, stored } from '#test/integration/apiserver/recorded/step.js';

const group = 'definitions.example.com';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const objects = `/apis/${group}/v1/namespaces/default/parts`;
const text = { type: 'string' };

function tried(plural: string, schema: object): Step {
  const kind = `${plural.charAt(0).toUpperCase()}${plural.slice(1)}`;
  return { method: 'POST', path: `${definitions}?dryRun=All`, body: definition(group, plural, kind, [{ schema }]) };
}

const inA = (schema: object) => ({ type: 'object', properties: { a: schema } });

const schemas: Readonly<Record<string, object>> = {
  notproperty: inA({ type: 'object', not: { properties: { y: { enum: ['a'] } }, required: ['y'] } }),
  anyofproperty: inA({ type: 'object', anyOf: [{ properties: { y: { enum: ['a'] } } }] }),
  notitems: inA({ type: 'string', not: { items: { pattern: 'x' } } }),
  nottype: inA({ type: 'string', not: { type: 'integer' } }),
  notinroot: { type: 'object', not: { properties: { y: { enum: ['a'] } } } },
  allofinroot: { ...inA(text), allOf: [{ properties: { a: { minLength: 1 }, b: { minLength: 1 } } }] },
  schema: { type: 'object', $schema: 'http://json-schema.org/draft-04/schema#' },
  schemainside: inA({ ...text, $schema: 'http://json-schema.org/schema#' }),
  identifier: { type: 'object', id: 'x' },
};

const spec = {
  type: 'object',
  properties: {
    list: { type: 'array', items: { type: 'integer' } },
    parts: { type: 'array', items: { type: 'object', properties: { a: text, n: { type: 'integer' } } } },
    number: { type: 'number' },
    map: { type: 'object', additionalProperties: text },
  },
};

const paths = [
  ...['.spec.list[-1:]', '.spec.list[0:2]', '.spec.list[-1]', '.spec.list[1:]', '.spec.list[:1]', '.spec.list[::2]'],
  ...['.spec.list[5]', '.spec.list[3:1]', '.spec.list[0,1]', '.spec.list[-9:]', '.spec.list', '.spec.map[0]'],
  ...['.spec.parts[*].a', '.spec.parts[-1:].a', '.spec.parts[?(@.a=="y")].n', '.spec.parts[?(@.n>1)].a'],
  ...['.spec.parts[?(@.n<=1)].a', ".spec.parts[0]['a','n']", '..a', '.spec.map', '.spec.map.k', ".spec.map['k']"],
  ...[".spec.map['a.b']", '.spec.map.a\\.b', ".spec.map['a\\.b']", '.spec.number', '.metadata.name'],
];

const additionalPrinterColumns = [
  ...paths.map((jsonPath, i) => ({ name: `S${i}`, type: 'string', jsonPath, description: 'a column' })),
  ...['.spec.list[-1:]', '.spec.number', '.spec.list'].map((jsonPath, i) => ({
    name: `I${i}`,
    type: 'integer',
    jsonPath,
    description: 'a column',
  })),
];

const part = {
  apiVersion: `${group}/v1`,
  kind: 'Part',
  metadata: { name: 'a' },
  spec: {
    list: [1, 2, 3],
    parts: [
      { a: 'x', n: 1 },
      { a: 'y', n: 2 },
    ],
    number: 1.5,
    map: { k: 'v', 'a.b': 'c' },
  },
};

const withoutNames: readonly unknown[] = [
  { metadata: { name: 'b' } },
  { kind: 'Part', metadata: { name: 'b' } },
  { apiVersion: `${group}/v1`, metadata: { name: 'b' } },
  { apiVersion: `${group}/v2`, kind: 'Part', metadata: { name: 'b' } },
  { apiVersion: 'v1', kind: 'Part', metadata: { name: 'b' } },
  { apiVersion: '', kind: '', metadata: { name: 'b' } },
  {},
];

const oldVersions = 'versions.example.com';

const versioned = definition(
  oldVersions,
  'versions',
  'Version',
  [
    { name: 'v1', schema: { type: 'object' } },
    { name: 'v1alpha1', schema: { type: 'object' }, deprecated: true },
    { name: 'v1beta1', schema: { type: 'object' }, deprecated: true, deprecationWarning: 'in words of its own' },
    { name: 'v1beta2', schema: { type: 'object' } },
    { name: 'v2alpha1', schema: { type: 'object' }, deprecated: true },
  ],
  { scope: 'Cluster' },
);

const oldGroup = 'older.example.com';

const beta = {
  kind: 'CustomResourceDefinition',
  apiVersion: 'apiextensions.k8s.io/v1beta1',
  metadata: {
    name: `olds.${oldGroup}`,
    uid: '00000000-0000-0000-0000-000000000001',
    generation: 1,
    creationTimestamp: '2020-01-01T00:00:00Z',
    managedFields: [
      {
        manager: 'before',
        operation: 'Update',
        apiVersion: 'apiextensions.k8s.io/v1',
        time: '2020-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { 'f:group': {} } },
      },
    ],
  },
  spec: {
    group: oldGroup,
    version: 'v1',
    names: { plural: 'olds', singular: 'old', kind: 'Old', listKind: 'OldList', shortNames: ['od'] },
    scope: 'Namespaced',
    validation: {
      openAPIV3Schema: { properties: { spec: { properties: { size: { type: 'integer', minimum: 1 } } } } },
    },
    subresources: { status: {} },
    versions: [{ name: 'v1', served: true, storage: true }],
    additionalPrinterColumns: [{ name: 'Size', type: 'integer', JSONPath: '.spec.size', description: 'a column' }],
    conversion: { strategy: 'None' },
    preserveUnknownFields: true,
  },
  status: {
    conditions: [
      ['NamesAccepted', 'NoConflicts', 'no conflicts found'],
      ['Established', 'InitialNamesAccepted', 'the initial names have been accepted'],
    ].map(([type, reason, message]) => ({
      type,
      status: 'True',
      lastTransitionTime: '2020-01-01T00:00:00Z',
      reason,
      message,
    })),
    acceptedNames: { plural: 'olds', singular: 'old', kind: 'Old', listKind: 'OldList', shortNames: ['od'] },
    storedVersions: ['v1'],
  },
};

const { versions: _versions, validation: _validation, preserveUnknownFields: _keeps, ...short } = beta.spec;
const shortest = {
  ...beta,
  metadata: { ...beta.metadata, name: 'others.older.example.com', uid: '00000000-0000-0000-0000-000000000002' },
  spec: {
    ...short,
    names: { ...short.names, plural: 'others', kind: 'Other', listKind: 'OtherList', shortNames: ['ot'] },
  },
  status: {
    ...beta.status,
    acceptedNames: { plural: 'others', singular: 'old', kind: 'Other', listKind: 'OtherList', shortNames: ['ot'] },
  },
};

const olds = `/apis/${oldGroup}/v1/namespaces/default/olds`;
const old = (name: string, members: object): Step => ({
  method: 'POST',
  path: olds,
  body: { apiVersion: `${oldGroup}/v1`, kind: 'Old', metadata: { name }, ...members },
});

export const ofDefinitions: Case = {
  name: 'definitions',
  steps: [
    ...Object.entries(schemas).map(([plural, schema]) => tried(plural, schema)),
    ...defined(
      group,
      'parts',
      definition(group, 'parts', 'Part', [
        { schema: { type: 'object', properties: { spec } }, additionalPrinterColumns },
      ]),
    ),
    { method: 'POST', path: objects, body: part },
    { method: 'GET', path: `${objects}/a`, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    ...withoutNames.flatMap((body): Step[] => [
      { method: 'POST', path: objects, body },
      { method: 'PUT', path: `${objects}/a`, body },
    ]),
    // The text of such an answer is not compared.
    { method: 'POST', path: `/apis/${group}/v1/parts`, body: part, parts: [] },
    { method: 'DELETE', path: `/apis/${group}/v1/parts`, parts: [] },
    ...defined(oldVersions, 'versions', versioned),
    ...['v1alpha1', 'v1beta1', 'v1beta2', 'v1', 'v2alpha1'].flatMap((version): Step[] => [
      { method: 'GET', path: `/apis/${oldVersions}/${version}/versions`, until: '"items"' },
      { method: 'GET', path: `/apis/${oldVersions}/${version}/versions/none` },
    ]),
    { method: 'GET', path: `${objects}/a/status` },
    { method: 'PUT', path: `${objects}/a/scale`, body: part },
    stored(`/registry/apiextensions.k8s.io/customresourcedefinitions/olds.${oldGroup}`, beta),
    stored(`/registry/apiextensions.k8s.io/customresourcedefinitions/others.${oldGroup}`, shortest),
    { method: 'GET', path: `/apis/${oldGroup}/v1`, until: '"olds"' },
    { method: 'GET', path: `/apis/${oldGroup}/v1/olds`, until: '"items"' },
    { method: 'GET', path: `${definitions}/olds.${oldGroup}`, until: 'NonStructuralSchema' },
    { method: 'GET', path: `${definitions}/olds.${oldGroup}` },
    { method: 'GET', path: `${definitions}/others.${oldGroup}`, until: 'NonStructuralSchema' },
    { method: 'GET', path: `${definitions}/others.${oldGroup}` },
    old('a', { spec: { size: 1, more: { x: [{ y: 1 }] } }, extra: true }),
    old('b', { spec: { size: 0 } }),
    old('c', { spec: { size: 'x' } }),
    {
      method: 'PATCH',
      path: `${olds}/a?fieldManager=m`,
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion: `${oldGroup}/v1`, kind: 'Old', metadata: { name: 'a' }, spec: { more: { z: 1 } } },
    },
    { method: 'GET', path: `${olds}/a`, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  ],
};
