/** Stored custom objects with metadata of wrong types, or with unsorted members. */
import {
  type Case,
  defined,
  definition,
  merged,
  type Step,
  stored,
} from '#test/integration/apiserver/recorded/step.js';

const group = 'odd.example.com';
const objects = `/apis/${group}/v1/namespaces/default/odds`;
const inner = { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
const spec = { type: 'object', properties: { a: { type: 'string' } } };

const odd: Readonly<Record<string, object>> = {
  labels: { labels: 5 },
  label: { labels: { a: 5, b: 'c' } },
  annotations: { annotations: 'x' },
  finalizers: { finalizers: 'x' },
  deletion: { deletionTimestamp: 5 },
  generation: { generation: 'x' },
  owners: { ownerReferences: {} },
  owner: { ownerReferences: [{ uid: 5 }] },
  managers: { managedFields: 5 },
  unknown: { bogus: 1 },
};

const manager = {
  manager: 'before',
  operation: 'Update',
  apiVersion: `${group}/v1`,
  time: '2020-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { '.': {}, 'f:a': {} } },
};

/** As 1.24 stores it: sorted. */
function object(name: string, metadata: object): object {
  return {
    apiVersion: `${group}/v1`,
    inner: { apiVersion: 'v1', kind: 'Inner', metadata: { name: 'inner', ...metadata } },
    kind: 'Odd',
    metadata: {
      creationTimestamp: '2020-01-01T00:00:00Z',
      generation: 3,
      name,
      namespace: 'default',
      managedFields: [manager],
      uid: `00000000-0000-0000-0000-${name}`,
      ...metadata,
    },
    spec: { a: 'b' },
  };
}

const names = Object.keys(odd);
const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

export const storedOdd: Case = {
  name: 'stored-odd',
  steps: [
    ...defined(
      group,
      'odds',
      definition(group, 'odds', 'Odd', [{ schema: { type: 'object', properties: { spec, inner } } }]),
    ),
    ...names.map((name) => stored(`/registry/${group}/odds/default/${name}`, object(name, odd[name] ?? {}))),
    ...names.flatMap((name): Step[] => [
      { method: 'GET', path: `${objects}/${name}`, until: '"spec"' },
      { method: 'GET', path: `${objects}/${name}` },
      // An object without managers gets none.
      ...(name === 'managers' ? [] : [merged(`${objects}/${name}`, 'a', { spec: { a: 'c' } })]),
      { method: 'GET', path: `${objects}/${name}`, accept: partial.replace('List', '') },
      { method: 'DELETE', path: `${objects}/${name}` },
      { method: 'GET', path: `${objects}/${name}` },
    ]),
  ],
};
