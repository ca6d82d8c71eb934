/** Every verb of a kind with its options, and methods that it lacks. */
import type { Case, Step } from '#test/integration/apiserver/peer/case.js';
import { jsonText } from '#test/integration/apiserver/peer/generate/big-numbers.js';
import { jsonPatches } from '#test/integration/apiserver/peer/generate/json-patches.js';
import {
  type JsonObject,
  jsonType,
  type KindUnderTest,
  patchTypes,
} from '#test/integration/apiserver/peer/generate/kind.js';

type Named = JsonObject & { metadata: JsonObject };

export function verbCases(kind: KindUnderTest): Case[] {
  const { verbs } = kind.info.declaration;
  const all = [...createCases(kind), ...methodCases(kind)];
  if (verbs.includes('get')) all.push(...readCases(kind));
  if (verbs.includes('update')) all.push(...updateCases(kind));
  if (verbs.includes('patch')) all.push(...patchCases(kind));
  if (verbs.includes('delete')) all.push(...deleteCases(kind));
  return all;
}

function withMetadata(object: Named, metadata: JsonObject): Named {
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

function createCases(kind: KindUnderTest): Case[] {
  const create = (id: string, make: (object: Named, name: string) => unknown, query = '') =>
    [0, 1].map((size) =>
      kind.case(`create ${id} ${size}`, (name) => [kind.post(make(kind.object(name, size), name), query)]),
    );
  const raw = (id: string, body: string, contentType = jsonType) =>
    kind.case(`create ${id}`, () => [{ method: 'POST', path: kind.collection(), contentType, body }]);
  return [
    ...create('plain', (object) => object),
    ...create('as a dry run', (object) => object, '?dryRun=All'),
    ...create('with an odd dryRun', (object) => object, '?dryRun=Some'),
    ...create('twice a dry run', (object) => object, '?dryRun=All&dryRun=All'),
    ...create('with a field manager', (object) => object, '?fieldManager=tests'),
    ...create('with a long field manager', (object) => object, `?fieldManager=${'m'.repeat(129)}`),
    ...create('with a bad field manager', (object) => object, '?fieldManager=a%01b'),
    ...create('with fieldValidation', (object) => ({ ...object, odd: 1 }), '?fieldValidation=Strict'),
    ...create('with an odd fieldValidation', (object) => object, '?fieldValidation=Odd'),
    ...create('with another kind', (object) => ({ ...object, kind: 'Odd' })),
    ...create('with another version', (object) => ({ ...object, apiVersion: 'odd/v1' })),
    ...create('with a bad version', (object) => ({ ...object, apiVersion: 'a/b/c' })),
    ...create('without a kind', ({ kind: _, ...object }) => object),
    ...create('without a version', ({ apiVersion: _, ...object }) => object),
    ...create('without either', ({ apiVersion: _, kind: __, ...object }) => object),
    ...create('with a generated name', (object, name) =>
      withMetadata(object, { name: undefined, generateName: `${name}-` }),
    ),
    ...create('with both names', (object, name) => withMetadata(object, { generateName: `${name}-` })),
    ...create('without a name', (object) => withMetadata(object, { name: undefined })),
    ...create('with a resourceVersion', (object) => withMetadata(object, { resourceVersion: '12' })),
    ...create('with resourceVersion 0', (object) => withMetadata(object, { resourceVersion: '0' })),
    ...create('with a uid', (object) => withMetadata(object, { uid: '11111111-2222-4333-8444-555555555555' })),
    ...create('with finalizers', (object) => withMetadata(object, { finalizers: ['example.com/a', 'example.com/b'] })),
    ...create('with a bad finalizer', (object) => withMetadata(object, { finalizers: ['a b'] })),
    ...create('with an owner', (object) =>
      withMetadata(object, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u' }] }),
    ),
    ...create('with a kilobyte of annotations', (object) =>
      withMetadata(object, { annotations: { a: 'a'.repeat(1000) } }),
    ),
    ...create('with too large annotations', (object) =>
      withMetadata(object, { annotations: { a: 'a'.repeat(263_000) } }),
    ),
    ...create('with an odd query', (object) => object, '?odd=1&pretty=true'),
    raw('nothing', ''),
    raw('null', 'null'),
    raw('a number', '5'),
    raw('a text', '"x"'),
    raw('a list', '[]'),
    raw('an empty object', '{}'),
    raw('half an object', '{"metadata":'),
    raw('two objects', '{}{}'),
    raw('a comma too many', '{"a":1,}'),
    raw('no UTF-8', '{"metadata":{"name":"\ud800"}}'),
    raw('XML', '<a/>', 'application/xml'),
    raw('of no type', '{}', ''),
    raw('of a patch type', '{}', patchTypes.merge),
    raw('no Protobuf', 'k8s', kind.dialect.protobufMediaType),
    raw('YAML', 'metadata:\n  name: "x', 'application/yaml'),
    raw('a YAML list', '- a\n- b\n', 'application/yaml'),
    raw('a YAML scalar', 'a', 'application/yaml'),
    kind.case('create as YAML', (name) => [
      {
        method: 'POST',
        path: kind.collection(),
        contentType: 'application/yaml',
        body: jsonText(kind.object(name, 1)),
      },
    ]),
    kind.case('create twice', (name) => [kind.post(kind.object(name, 1)), kind.post(kind.object(name, 1))]),
    ...(kind.namespace === undefined
      ? []
      : [
          kind.case('create in a namespace that is not there', (name) => [
            {
              ...kind.post(withMetadata(kind.object(name), { namespace: 'nowhere' })),
              path: kind.collection('nowhere'),
            },
          ]),
          kind.case('create in another namespace', (name) => [
            kind.post(withMetadata(kind.object(name), { namespace: 'other' })),
          ]),
          kind.case('create without a namespace', (name) => [
            kind.post(withMetadata(kind.object(name), { namespace: undefined })),
          ]),
        ]),
  ];
}

function methodCases(kind: KindUnderTest): Case[] {
  const body = (object: unknown) => ({ contentType: jsonType, body: jsonText(object) });
  const collection = kind.collection();
  const unnamed = (method: string, path: string, more: Partial<Step> = {}) =>
    kind.case(`${method} of ${path === collection ? 'the collection' : path.slice(collection.length)}`, () => [
      { method, path, ...more },
    ]);
  return [
    unnamed('PUT', collection, body({})),
    unnamed('PATCH', collection, { contentType: patchTypes.merge, body: '{}' }),
    unnamed('HEAD', collection),
    unnamed('OPTIONS', collection),
    unnamed('POST', `${collection}/a-name`, body({})),
    unnamed('OPTIONS', `${collection}/a-name`),
    unnamed('GET', `${collection}/a-name/odd`),
    unnamed('PUT', `${collection}/a-name/odd`, body({})),
    unnamed('GET', `${collection}/a-name/status`),
    unnamed('GET', `${collection}/a-name/scale`),
    unnamed('POST', `${collection}/a-name/status`, body({})),
    unnamed('DELETE', `${collection}/a-name/status`),
    unnamed('GET', `${collection}/Bad_Name!`),
    unnamed('GET', `${collection}/a%2Fb`),
    unnamed('GET', `${collection}/%2e%2e`),
    unnamed('GET', `${collection}/?labelSelector=peer%3Dnone`),
    unnamed('DELETE', `${collection}/%20`),
  ];
}

function readCases(kind: KindUnderTest): Case[] {
  const read = (id: string, query: string) =>
    kind.case(`get ${id}`, (name) => {
      const object = kind.object(name, 1);
      return [kind.post(object), { method: 'GET', path: `${kind.pathOf(object)}${query}` }];
    });
  return [
    read('plain', ''),
    read('at 0', '?resourceVersion=0'),
    read('at a bad version', '?resourceVersion=x'),
    read('at a far version', '?resourceVersion=999999999'),
    read('pretty', '?pretty=1'),
    read('as a list', '?watch=1&timeoutSeconds=1&limit=x'),
    kind.case('get what is not there', (name) => [{ method: 'GET', path: `${kind.collection()}/${name}` }]),
  ];
}

function updateCases(kind: KindUnderTest): Case[] {
  const update = (id: string, make: (object: Named, name: string) => unknown, query = '') =>
    kind.case(`update ${id}`, (name) => {
      const object = kind.object(name, 1);
      return [kind.post(object), kind.put(`${kind.pathOf(object)}${query}`, make(object, name))];
    });
  const fresh = (object: Named) => withMetadata(object, { resourceVersion: '$rv' });
  const labelled = (object: Named) => withMetadata(fresh(object), { labels: { put: 'yes' } });
  return [
    update('with a label', labelled),
    update('to the small form', (_, name) => fresh(kind.object(name, 0) as Named)),
    update('with nothing new', fresh),
    update('as a dry run', labelled, '?dryRun=All'),
    update('with an odd dryRun', labelled, '?dryRun=x'),
    update('without a resourceVersion', (object) => withMetadata(object, { labels: { put: 'yes' } })),
    update('with resourceVersion 0', (object) =>
      withMetadata(object, { resourceVersion: '0', labels: { put: 'yes' } }),
    ),
    update('with an old resourceVersion', (object) => withMetadata(object, { resourceVersion: '1' })),
    update('with a bad resourceVersion', (object) => withMetadata(object, { resourceVersion: 'x' })),
    update('with another uid', (object) =>
      withMetadata(fresh(object), { uid: '11111111-2222-4333-8444-555555555555' }),
    ),
    update('with its uid', (object) => withMetadata(fresh(object), { uid: '$uid' })),
    update('with another name', (object) => withMetadata(fresh(object), { name: 'other' })),
    update('without a name', (object) => withMetadata(fresh(object), { name: undefined })),
    update('with another namespace', (object) => withMetadata(fresh(object), { namespace: 'other' })),
    update('with another kind', (object) => ({ ...fresh(object), kind: 'Odd' })),
    update('with another version', (object) => ({ ...fresh(object), apiVersion: 'odd/v1' })),
    update('without a kind', ({ kind: _, ...object }) => fresh(object as Named)),
    update('with finalizers', (object) => withMetadata(fresh(object), { finalizers: ['example.com/a'] })),
    update('with a generation', (object) => withMetadata(fresh(object), { generation: 7 })),
    update('with a creation time', (object) =>
      withMetadata(fresh(object), { creationTimestamp: '2020-01-01T00:00:00Z' }),
    ),
    update('with a deletion time', (object) =>
      withMetadata(fresh(object), { deletionTimestamp: '2020-01-01T00:00:00Z' }),
    ),
    update('without managed fields', (object) => withMetadata(fresh(object), { managedFields: [] })),
    update('with bad managed fields', (object) =>
      withMetadata(fresh(object), { managedFields: [{ manager: 'x', operation: 'Odd' }] }),
    ),
    update('with a status', (object) => ({ ...fresh(object), status: {} })),
    update('with an empty list', () => []),
    update('with nothing', () => null),
    kind.case('update what is not there', (name) => {
      const object = kind.object(name, 1);
      return [kind.put(kind.pathOf(object), object)];
    }),
    kind.case('update what is not there with a version', (name) => {
      const object = kind.object(name, 1) as Named;
      return [kind.put(kind.pathOf(object), withMetadata(object, { resourceVersion: '5' }))];
    }),
  ];
}

function patchCases(kind: KindUnderTest): Case[] {
  const patch = (id: string, contentType: string, body: unknown, query = '') =>
    kind.case(`patch ${id}`, (name) => {
      const object = kind.object(name, 1);
      const text = typeof body === 'string' ? body : jsonText(body);
      return [kind.post(object), { method: 'PATCH', path: `${kind.pathOf(object)}${query}`, contentType, body: text }];
    });
  const { merge, strategic, json } = patchTypes;
  const labels = { metadata: { labels: { patched: 'yes' } } };
  return [
    ...[merge, strategic].flatMap((type) => [
      patch(`a label ${type}`, type, labels),
      patch(`a label away ${type}`, type, { metadata: { labels: null } }),
      patch(`nothing ${type}`, type, {}),
      patch(`as a dry run ${type}`, type, labels, '?dryRun=All'),
      patch(`with force ${type}`, type, labels, '?force=true'),
      patch(`the name ${type}`, type, { metadata: { name: 'other' } }),
      patch(`the uid ${type}`, type, { metadata: { uid: 'other' } }),
      patch(`the version ${type}`, type, { metadata: { resourceVersion: '1' } }),
      patch(`the version to 0 ${type}`, type, { metadata: { resourceVersion: '0' } }),
      patch(`the kind ${type}`, type, { kind: 'Odd' }),
      patch(`the apiVersion ${type}`, type, { apiVersion: 'odd/v1' }),
      patch(`an unknown field ${type}`, type, { odd: 1 }),
      patch(`metadata of a wrong type ${type}`, type, { metadata: 'x' }),
      patch(`metadata away ${type}`, type, { metadata: null }),
      patch(`a label of a wrong type ${type}`, type, { metadata: { labels: { a: 1 } } }),
      patch(`a list ${type}`, type, []),
      patch(`null ${type}`, type, 'null'),
      patch(`half a patch ${type}`, type, '{"metadata":'),
      patch(`an empty body ${type}`, type, ''),
      patch(`finalizers ${type}`, type, { metadata: { finalizers: ['example.com/a'] } }),
      patch(`owners ${type}`, type, {
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u' }] },
      }),
      patch(`a directive ${type}`, type, { metadata: { $patch: 'replace', labels: { a: 'b' } } }),
      patch(`a directive to delete ${type}`, type, { metadata: { labels: { $patch: 'delete' } } }),
      patch(`a bad directive ${type}`, type, { metadata: { labels: { $patch: 'odd' } } }),
      patch(`a directive for finalizers ${type}`, type, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }),
      patch(`a directive of retained keys ${type}`, type, { metadata: { $retainKeys: ['name'] } }),
    ]),
    ...Object.entries(jsonPatches).map(([id, body]) => patch(`json ${id}`, json, body)),
    patch('of an unknown type', 'application/odd+json', {}),
    patch('of no type', '', {}),
    patch('as JSON', jsonType, {}),
    ...applyBodies(kind).map(([id, body, query]) => patch(`apply ${id}`, patchTypes.apply, body, query)),
    kind.case('patch what is not there', (name) => [kind.patch(`${kind.collection()}/${name}`, 'merge', labels)]),
  ];
}

function applyBodies(kind: KindUnderTest): (readonly [id: string, body: unknown, query: string])[] {
  const { apiVersion, declaration } = kind.info;
  const named = { apiVersion, kind: declaration.kind };
  const labels = { ...named, metadata: { labels: { applied: 'yes' } } };
  return [
    ['a label', labels, '?fieldManager=two'],
    ['with force', labels, '?fieldManager=two&force=true'],
    ['with an odd force', labels, '?fieldManager=two&force=odd'],
    ['without a manager', labels, ''],
    ['with a long manager', labels, `?fieldManager=${'m'.repeat(129)}`],
    ['as a dry run', labels, '?fieldManager=two&dryRun=All'],
    ['without a kind', { metadata: {} }, '?fieldManager=two'],
    ['another kind', { ...labels, kind: 'Odd' }, '?fieldManager=two'],
    ['another version', { ...labels, apiVersion: 'odd/v1' }, '?fieldManager=two'],
    ['another name', { ...named, metadata: { name: 'other' } }, '?fieldManager=two'],
    ['an unknown field', { ...labels, odd: 1 }, '?fieldManager=two'],
    ['managed fields', { ...named, metadata: { managedFields: [{ manager: 'x' }] } }, '?fieldManager=two'],
    ['a list', [], '?fieldManager=two'],
    ['null', 'null', '?fieldManager=two'],
    ['an empty body', '', '?fieldManager=two'],
    ['no YAML', '{a: "', '?fieldManager=two'],
    ['an old version', { ...named, metadata: { resourceVersion: '1' } }, '?fieldManager=two'],
  ];
}

function deleteCases(kind: KindUnderTest): Case[] {
  const remove = (id: string, body: unknown, query = '', change: JsonObject = {}) =>
    kind.case(`delete ${id}`, (name) => {
      const object = withMetadata(kind.object(name, 1) as Named, change);
      const path = `${kind.pathOf(object)}${query}`;
      const options = body === undefined ? {} : { contentType: jsonType, body: jsonText(body) };
      return [kind.post(object), { method: 'DELETE', path, ...options }, { method: 'GET', path: kind.pathOf(object) }];
    });
  const kept = { finalizers: ['example.com/keep'] };
  return [
    remove('plain', undefined),
    remove('with a finalizer', undefined, '', kept),
    remove('as a dry run', undefined, '?dryRun=All'),
    remove('with a dry run in the body', { dryRun: ['All'] }),
    remove('with an odd dry run', { dryRun: ['Some'] }),
    remove('at once', { gracePeriodSeconds: 0 }),
    remove('at once by the query', undefined, '?gracePeriodSeconds=0'),
    remove('after a while', { gracePeriodSeconds: 5 }),
    remove('after a negative while', { gracePeriodSeconds: -1 }),
    remove('after an odd while', undefined, '?gracePeriodSeconds=x'),
    remove('in the background', { propagationPolicy: 'Background' }),
    remove('in the foreground', { propagationPolicy: 'Foreground' }),
    remove('as an orphan', { propagationPolicy: 'Orphan' }),
    remove('with an odd policy', { propagationPolicy: 'Odd' }),
    remove('with an odd policy by the query', undefined, '?propagationPolicy=Odd'),
    remove('with orphans the old way', { orphanDependents: true }),
    remove('without orphans the old way', { orphanDependents: false }),
    remove('with both ways', { orphanDependents: true, propagationPolicy: 'Orphan' }),
    remove('with its uid', { preconditions: { uid: '$uid' } }),
    remove('with another uid', { preconditions: { uid: 'other' } }),
    remove('with its version', { preconditions: { resourceVersion: '$rv' } }),
    remove('with another version', { preconditions: { resourceVersion: '1' } }),
    remove('with options of another kind', { kind: 'Odd', apiVersion: 'v1' }),
    remove('with options of their kind', { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 }),
    remove('with unknown options', { odd: 1 }),
    remove('with a list', []),
    remove('with a wrong type', { gracePeriodSeconds: 'x' }),
    kind.case('delete what is not there', (name) => [{ method: 'DELETE', path: `${kind.collection()}/${name}` }]),
    kind.case('delete what waits for its finalizer', (name) => {
      const object = withMetadata(kind.object(name, 1) as Named, kept);
      const path = kind.pathOf(object);
      const free: Step = kind.patch(path, 'merge', { metadata: { finalizers: null } });
      const more: Step = kind.patch(path, 'merge', {
        metadata: { finalizers: ['example.com/keep', 'example.com/more'] },
      });
      return [
        kind.post(object),
        { method: 'DELETE', path },
        { method: 'DELETE', path },
        more,
        free,
        { method: 'GET', path },
      ];
    }),
    ...(kind.info.declaration.verbs.includes('deletecollection')
      ? [
          kind.case('delete a collection', (name) => {
            const object = withMetadata(kind.object(name, 1) as Named, { labels: { peer: name } });
            const path = `${kind.collection()}?labelSelector=peer%3D${name}`;
            return [kind.post(object), { method: 'DELETE', path: `${path}&dryRun=All` }, { method: 'DELETE', path }];
          }),
          kind.case('delete a collection by an odd field', () => [
            { method: 'DELETE', path: `${kind.collection()}?fieldSelector=odd%3Da&labelSelector=peer%3Dnone` },
          ]),
          kind.case('delete a collection with an odd policy', () => [
            {
              method: 'DELETE',
              path: `${kind.collection()}?labelSelector=peer%3Dnone`,
              contentType: jsonType,
              body: jsonText({ propagationPolicy: 'Odd' }),
            },
          ]),
        ]
      : []),
  ];
}
