/** Objects as table rows and as partial metadata, as command-line clients and metadata caches request them. */
import type { Case, Step } from '#test/integration/apiserver/peer/case.js';
import { type JsonObject, type KindUnderTest, patchTypes } from '#test/integration/apiserver/peer/generate/kind.js';
import { printedSamples } from '#test/integration/apiserver/peer/samples/printed.js';

type Named = JsonObject & { metadata: JsonObject };

/** Forms of objects, and the media types in which their lists differ. */
export function printedCases(kind: KindUnderTest): Case[] {
  const { verbs } = kind.info.declaration;
  if (!verbs.includes('get')) return [writesCase(kind)];
  const samples = printedSamples(kind.sample.file);
  return [
    ...kind.sample.sizes.map((_, size) =>
      kind.case(`printed ${size}`, (name) => [
        kind.post(labelled(kind.object(name, size), name)),
        ...reads(kind, kind.object(name, size), name),
      ]),
    ),
    ...Object.entries(samples).map(([id, sample]) =>
      kind.case(`printed ${id}`, (name) => {
        const object = labelled(merged(kind.object(name, 0), sample), name);
        return [kind.post(object), ...statusWrites(kind, object), ...rows(kind, object, name)];
      }),
    ),
    writesCase(kind),
  ];
}

function labelled(object: Named, name: string): Named {
  const { labels } = object.metadata;
  return { ...object, metadata: { ...object.metadata, labels: { ...(labels as JsonObject | undefined), peer: name } } };
}

/** `sample` overrides members of the object, and single members of its metadata. */
function merged(object: Named, { metadata, ...members }: JsonObject): Named {
  return { ...object, ...members, metadata: { ...object.metadata, ...(metadata as JsonObject | undefined) } };
}

function statusWrites(kind: KindUnderTest, object: Named): Step[] {
  const hasStatus = (kind.info.declaration.subresources ?? []).some(({ name }) => name === 'status');
  if (object['status'] === undefined || !hasStatus) return [];
  const body = { ...object, metadata: { ...object.metadata, resourceVersion: '$rv' } };
  return [kind.put(kind.pathOf(object, '/status'), body)];
}

/** Makes an object's row distinguishable from others of its kind. */
function rows(kind: KindUnderTest, object: Named, name: string): Step[] {
  const accept = table(kind);
  return [
    { method: 'GET', path: `${kind.pathOf(object)}?includeObject=None`, accept },
    { method: 'GET', path: `${ownList(kind, name)}&includeObject=${wholeObjects(kind)}`, accept },
  ];
}

/** Rows with whole objects: the server's own writes to them are unpredictable. */
function wholeObjects({ sample }: KindUnderTest): string {
  return sample.sharedWithServer === true ? 'Metadata' : 'Object';
}

function ownList(kind: KindUnderTest, name: string): string {
  return `${kind.collection()}?labelSelector=peer%3D${name}`;
}

function reads(kind: KindUnderTest, object: Named, name: string): Step[] {
  const path = kind.pathOf(object);
  const get = (at: string, query: string, accept: string): Step => ({
    method: 'GET',
    path: query === '' ? at : `${at}${at.includes('?') ? '&' : '?'}${query}`,
    accept,
  });
  const { protobufMediaType } = kind.dialect;
  const partial = (as: string, { type = 'application/json', version = 'v1' } = {}) =>
    `${type};as=${as};v=${version};g=${metaGroup(kind)}`;
  const fallback = [table(kind), table(kind, 'v1beta1'), 'application/json'].join(',');
  return [path, ownList(kind, name)].flatMap((at) => [
    ...['', 'None', 'Metadata', wholeObjects(kind), 'Odd'].map((include) =>
      get(at, include === '' ? '' : `includeObject=${include}`, table(kind)),
    ),
    get(at, '', table(kind, 'v1beta1')),
    get(at, '', fallback),
    get(at, 'includeObject=None', partial('Table', { type: 'application/yaml' })),
    get(at, '', partial('Table', { type: protobufMediaType })),
    get(at, '', partial('Table', { type: protobufMediaType }).concat(',application/json')),
    ...['PartialObjectMetadata', 'PartialObjectMetadataList'].flatMap((as) => [
      get(at, '', partial(as)),
      get(at, '', partial(as, { version: 'v1beta1' })),
      get(at, '', partial(as, { type: protobufMediaType })),
      get(at, '', partial(as, { type: protobufMediaType, version: 'v1beta1' })),
      get(at, '', `${partial(as, { type: protobufMediaType })},${partial(as)},application/json`),
    ]),
    get(at, '', partial('PartialObjectMetadata', { version: 'v2' })),
    get(at, '', partial('Nothing')),
    get(at, '', `${partial('Nothing')},application/json`),
    get(at, '', 'application/json;as=Table;v=v1'),
    get(at, '', `application/json;as=Table;g=${metaGroup(kind)}`),
    get(at, '', 'application/json;as=Table;v=v1;g=example.com'),
  ]);
}

function metaGroup({ dialect }: KindUnderTest): string {
  return `meta.${dialect.apiDomain}`;
}

function table(kind: KindUnderTest, version = 'v1'): string {
  return `application/json;as=Table;v=${version};g=${metaGroup(kind)}`;
}

/** Events in each form. A watch takes a second, so all cases are in one file and run side by side. */
export function printedWatchCase(kind: KindUnderTest, file: string): Case {
  const given = kind.case('watched', (name) => {
    const watch = (query: string, accept: string): Step => ({
      method: 'GET',
      path: `${ownList(kind, name)}&watch=1&timeoutSeconds=1${query}`,
      accept,
    });
    const partial = (as: string) => `application/json;as=${as};v=v1;g=${metaGroup(kind)}`;
    return [
      kind.post(labelled(kind.object(name, 1), name)),
      watch('', table(kind)),
      watch('&includeObject=None', table(kind, 'v1beta1')),
      watch('', partial('PartialObjectMetadata')),
      watch('', partial('PartialObjectMetadataList')),
      watch('', partial('Nothing')),
    ];
  });
  return { ...given, file, id: `${kind.file} watched` };
}

/** Writes that request their answer as a table, and as metadata. */
function writesCase(kind: KindUnderTest): Case {
  const { verbs } = kind.info.declaration;
  return kind.case('writes answered as tables', (name) => {
    const object = kind.object(name, 1) as Named;
    const path = kind.pathOf(object);
    const asTable = { accept: table(kind) };
    const asPartial = { accept: `application/json;as=PartialObjectMetadata;v=v1;g=${metaGroup(kind)}` };
    const label = (value: string) => kind.patch(path, 'merge', { metadata: { labels: { changed: value } } });
    const applied = {
      apiVersion: kind.info.apiVersion,
      kind: kind.info.declaration.kind,
      metadata: { labels: { applied: 'yes' } },
    };
    const steps: Step[] = [{ ...kind.post(object), ...asTable }];
    if (verbs.includes('update')) steps.push({ ...kind.put(path, object), ...asTable });
    if (verbs.includes('patch')) {
      steps.push(
        { ...label('yes'), ...asTable },
        { ...label('no'), ...asPartial },
        { ...label('odd'), accept: `application/json;as=Nothing;v=v1;g=${metaGroup(kind)}` },
        {
          method: 'PATCH',
          path: `${path}?fieldManager=two`,
          contentType: patchTypes.apply,
          body: JSON.stringify(applied),
          ...asTable,
        },
      );
    }
    if (verbs.includes('delete')) {
      steps.push(
        { method: 'DELETE', path: `${path}?dryRun=All`, ...asPartial },
        { method: 'DELETE', path: `${path}?gracePeriodSeconds=0`, ...asTable },
        { method: 'DELETE', path, ...asTable },
      );
    }
    return steps;
  });
}
