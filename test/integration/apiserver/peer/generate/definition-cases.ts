/** Definitions with every schema keyword, and objects of their kinds. */
import { schemeFor } from '#api/scheme.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Case, CaseSet, Step } from '#test/integration/apiserver/peer/case.js';
import { keywords, oddSchemas } from '#test/integration/apiserver/peer/generate/keywords.js';
import { type JsonObject, jsonType, KindUnderTest } from '#test/integration/apiserver/peer/generate/kind.js';
import { acceptCases, listCases } from '#test/integration/apiserver/peer/generate/list-cases.js';
import { printedCases, printedWatchCase } from '#test/integration/apiserver/peer/generate/printed-cases.js';
import { subresourceCases } from '#test/integration/apiserver/peer/generate/subresource-cases.js';
import { verbCases } from '#test/integration/apiserver/peer/generate/verb-cases.js';
import type { MakeObject } from '#test/integration/apiserver/peer/samples/sample.js';

const group = 'custom.example.com';

/** The kind with all keywords, an ordinary one with subresources, a cluster-scoped one, and definitions alone. */
export function* definitionSets(dialect: Dialect): Generator<CaseSet> {
  yield keywordSet(dialect);
  for (const [plural, namespaced] of [
    ['widgets', true],
    ['worlds', false],
  ] as const) {
    yield ordinarySet(dialect, plural, namespaced);
  }
  yield columnSet(dialect);
  yield schemaSet(dialect);
}

interface Definition {
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly schema: object;
  readonly more?: object;
}

function definitionBody(dialect: Dialect, { plural, kind, namespaced, schema, more }: Definition): string {
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more };
  const body = JSON.stringify({
    apiVersion: dialect.apiVersion('apiextensions', 'v1'),
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, names: { plural, kind }, scope: namespaced ? 'Namespaced' : 'Cluster', versions: [version] },
  });
  return body.replaceAll('x-kubernetes-', dialect.extensionPrefix);
}

function definitionsPath(dialect: Dialect): string {
  return `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions`;
}

function define(dialect: Dialect, definition: Definition): Step[] {
  const body = definitionBody(dialect, definition);
  return [
    { method: 'POST', path: definitionsPath(dialect), contentType: jsonType, body },
    { method: 'GET', path: `/apis/${group}/v1/${definition.plural}`, untilFound: true },
  ];
}

function customKind(
  dialect: Dialect,
  { plural, kind, namespaced }: Definition,
  sizes: readonly MakeObject[],
): KindUnderTest {
  const scheme = schemeFor(dialect);
  // Only the resource's names matter here: its fields are in the definition.
  const base = scheme.resources.find(({ declaration }) => declaration.resource === 'configmaps');
  if (base === undefined) throw new RangeError('no resource to take verbs from');
  const parts = ['status', 'scale'].map((name) => ({ name, kind, verbs: [] }));
  const declaration = { ...base.declaration, version: 'v1', resource: plural, kind, namespaced, subresources: parts };
  const info = { ...base, declaration, groupName: group, apiVersion: `${group}/v1` };
  return new KindUnderTest(info, { file: `custom.v1.${plural}`, sizes }, dialect);
}

function keywordSet(dialect: Dialect): CaseSet {
  const properties = Object.fromEntries(Object.entries(keywords).map(([name, { schema }]) => [name, schema]));
  // Defaulted members exist even if a case omits them.
  const schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const definition: Definition = { plural: 'keywords', kind: 'Keyword', namespaced: true, schema };
  const kind = customKind(dialect, definition, [() => ({ spec: {} })]);
  const cases = Object.entries(keywords).flatMap(([name, { values }]) =>
    values.flatMap((value) => {
      const id = `${name} ${JSON.stringify(value)}`;
      return [
        kind.case(`create ${id}`, (object) => [kind.post({ ...kind.object(object), spec: { [name]: value } })]),
        kind.case(`patch ${id}`, (object) => [
          kind.post(kind.object(object)),
          kind.patch(kind.pathOf(kind.object(object)), 'merge', { spec: { [name]: value } }),
        ]),
        kind.case(`apply ${id}`, (object) => [
          kind.patch(`${kind.pathOf(kind.object(object))}?fieldManager=one`, 'apply', {
            ...kind.object(object),
            spec: { [name]: value },
          }),
        ]),
      ];
    }),
  );
  return { file: kind.file, steps: [...namespaceOf(kind), ...define(dialect, definition)], cases };
}

function namespaceOf(kind: KindUnderTest): Step[] {
  const { namespace } = kind;
  if (namespace === undefined) return [];
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  return [{ method: 'POST', path: '/api/v1/namespaces', contentType: jsonType, body }];
}

const ordinarySchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { size: { type: 'integer', minimum: 0 }, color: { type: 'string', enum: ['red', 'blue'] } },
    },
    status: {
      type: 'object',
      properties: { size: { type: 'integer' }, conditions: { type: 'array', items: { type: 'object' } } },
    },
  },
};

function ordinarySet(dialect: Dialect, plural: string, namespaced: boolean): CaseSet {
  const more = {
    subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
    additionalPrinterColumns: [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'Color', type: 'string', jsonPath: '.spec.color', priority: 1 },
    ],
  };
  const kindName = plural === 'widgets' ? 'Widget' : 'World';
  const definition: Definition = { plural, kind: kindName, namespaced, schema: ordinarySchema, more };
  const labelled = { metadata: { labels: { app: 'example' } } };
  const kind = customKind(dialect, definition, [() => ({}), () => ({ ...labelled, spec: { size: 3, color: 'red' } })]);
  const cases = [...verbCases(kind), ...listCases(kind), ...acceptCases(kind), ...subresourceCases(kind)];
  return { file: kind.file, steps: [...namespaceOf(kind), ...define(dialect, definition)], cases };
}

/** A kind with columns of all types, and objects with matching, other or no values. */
function columnSet(dialect: Dialect): CaseSet {
  const column = (name: string, type: string, jsonPath: string, more: object = {}) => ({
    name,
    type,
    jsonPath,
    ...more,
  });
  const more = {
    additionalPrinterColumns: [
      column('Integer', 'integer', '.spec.integer', { format: 'int64', description: 'a whole number' }),
      column('Number', 'number', '.spec.number', { format: 'double' }),
      column('Flag', 'boolean', '.spec.flag'),
      column('Text', 'string', '.spec.text', { priority: 1 }),
      column('When', 'date', '.spec.when'),
      column('Age', 'date', '.metadata.creationTimestamp'),
      column('First', 'string', '.spec.list[0].name', { format: 'byte' }),
      column('Last', 'string', '.spec.list[-1:].name'),
      column('All', 'string', '.spec.list[*].name'),
      column('Ready', 'string', '.spec.list[?(@.name=="b")].value'),
      column('Map', 'string', '.spec.map'),
      column('Label', 'string', '.metadata.labels.app'),
      column('Count', 'integer', '.spec.list[*].value'),
    ],
  };
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  };
  const definition: Definition = { plural: 'gadgets', kind: 'Gadget', namespaced: true, schema, more };
  const list = [
    { name: 'a', value: 1 },
    { name: 'b', value: 2 },
  ];
  const kind = customKind(dialect, definition, [
    () => ({}),
    () => ({
      metadata: { labels: { app: 'example' } },
      spec: {
        integer: 5,
        number: 1.5,
        flag: true,
        text: 'x',
        when: '2020-01-01T00:00:00Z',
        list,
        map: { a: 1, b: 'c' },
      },
    }),
    () => ({ spec: { integer: '7', number: '2.5', flag: 'yes', text: 5, when: 'never', list: {}, map: [1, 'a'] } }),
    () => ({ spec: { integer: 1.5, number: 3, flag: 0, text: true, when: 12, list: [], map: null } }),
    () => ({ spec: { integer: { a: 1 }, number: [1], flag: false, text: { a: 'b' }, when: null, list: [5], map: '' } }),
  ]);
  return {
    file: kind.file,
    steps: [...namespaceOf(kind), ...define(dialect, definition)],
    cases: [...printedCases(kind), printedWatchCase(kind, kind.file)],
  };
}

/** Definitions of all schemas, without objects. */
function schemaSet(dialect: Dialect): CaseSet {
  const file = 'custom.definitions';
  const all: [string, object][] = [
    ...Object.entries(keywords).map(([name, { schema }]): [string, object] => [`keyword ${name}`, schema]),
    ...Object.entries(oddSchemas),
  ];
  const cases = all.flatMap(([id, schema], i): Case[] =>
    ['property', 'root', 'items'].map((place) => {
      const name = `s${i}${place[0]}`;
      const body = definitionBody(dialect, {
        plural: `${name}s`,
        kind: `K${name}`,
        namespaced: true,
        schema: placed(place, schema),
      });
      const path = definitionsPath(dialect);
      return {
        file,
        id: `${id} as ${place}`,
        name,
        steps: [{ method: 'POST', path, contentType: jsonType, body }],
        cleanup: [{ method: 'DELETE', path: `${path}/${name}s.${group}` }],
        sharedWithServer: true,
      };
    }),
  );
  return { file, steps: [], cases };
}

function placed(place: string, schema: object): object {
  if (place === 'root') return { type: 'object', ...schema };
  const part: JsonObject = place === 'items' ? { type: 'array', items: schema } : { ...schema };
  return { type: 'object', properties: { spec: part } };
}
