/** Reads with valid and invalid options. */
import type { Case } from '#test/integration/apiserver/peer/case.js';
import type { KindUnderTest } from '#test/integration/apiserver/peer/generate/kind.js';

/** List queries with predictable results among other objects; a label selects the case's own object. */
const queries: readonly string[] = [
  'limit=1',
  'limit=0',
  'limit=-1',
  'limit=x',
  'limit=99999999999999999999',
  'continue=abc',
  'limit=1&continue=abc',
  'continue=abc&resourceVersion=1',
  'labelSelector=peer%3D',
  'labelSelector=peer%20in%20(a,b)',
  'labelSelector=peer%20notin%20(a)',
  'labelSelector=!peer',
  'labelSelector=peer%3D%3Da',
  'labelSelector=peer!%3Da',
  'labelSelector=peer%3D%3D%3Da',
  'labelSelector=peer%20in%20',
  'labelSelector=Bad%20Key%3Da',
  'labelSelector=peer%3Dbad%20value!',
  'labelSelector=peer%3E1',
  'labelSelector=peer%3Ex',
  'labelSelector=,',
  'fieldSelector=metadata.name%3Da',
  'fieldSelector=metadata.name%3D%3Da,metadata.namespace%3Db',
  'fieldSelector=metadata.name!%3Da',
  'fieldSelector=metadata.name',
  'fieldSelector=spec.odd%3Da',
  'fieldSelector=metadata.name%3DBad%20Name',
  'fieldSelector=metadata.uid%3Dx',
  'resourceVersion=0',
  'resourceVersion=x',
  'resourceVersion=-1',
  'resourceVersion=1.5',
  'resourceVersion=0&resourceVersionMatch=Exact',
  'resourceVersion=0&resourceVersionMatch=NotOlderThan',
  'resourceVersionMatch=Exact',
  'resourceVersion=1&resourceVersionMatch=Odd',
  'resourceVersion=1&resourceVersionMatch=NotOlderThan&continue=abc',
  'timeoutSeconds=x',
  'timeoutSeconds=-1',
  'watch=maybe&timeoutSeconds=1',
  'watch=1&timeoutSeconds=1&resourceVersion=x',
  'watch=1&timeoutSeconds=1&resourceVersionMatch=Exact',
  'watch=1&timeoutSeconds=1&limit=x',
  'watch=1&timeoutSeconds=1&labelSelector=%3D%3D',
  'watch=1&timeoutSeconds=1&fieldSelector=spec.odd%3Da',
  'watch=1&timeoutSeconds=1&fieldSelector=metadata.name',
  'allowWatchBookmarks=x',
  'pretty=true',
  'pretty=x',
  'odd=1',
];

/** Fields by which 1.24 selects some kinds; other kinds refuse them. */
const fields = [
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'spec.unschedulable',
  'spec.signerName',
  'status.phase',
  'status.podIP',
  'status.nominatedNodeName',
  'status.replicas',
  'status.successful',
  'type',
  'reason',
  'reportingComponent',
  'source',
  'involvedObject.kind',
  'involvedObject.namespace',
  'regarding.kind',
];

export function listCases(kind: KindUnderTest): Case[] {
  if (!kind.info.declaration.verbs.includes('list')) return [];
  const within = kind.namespace === undefined ? undefined : `${kind.namespace}-lists`;
  const collection = kind.collection(within);
  const selective = kind.namespace === undefined && !kind.info.declaration.namespaced;
  // Lists of all objects are unpredictable, so select by a label that none has.
  const empty = (query: string) =>
    selective && !query.includes('labelSelector=') ? `${query}&labelSelector=peer%3Dnone` : query;
  const get = (id: string, path: string, accept?: string): Case =>
    kind.case(id, () => [{ method: 'GET', path, ...(accept === undefined ? {} : { accept }) }]);
  return [
    ...queries
      .filter((query) => !(selective && query.includes('!')) || query.includes('%3D%3D%3D'))
      .map((query) => get(`list ${query}`, `${collection}?${empty(query)}`)),
    ...fields.map((field) => get(`list by ${field}`, `${collection}?${empty(`fieldSelector=${field}%3Da`)}`)),
  ];
}

const accepts: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/json;as=Table;g=GROUP;v=v1',
  'application/json;as=Table;g=GROUP;v=v1beta1',
  'application/json;as=Table;g=GROUP;v=v2',
  'application/json;as=PartialObjectMetadata;g=GROUP;v=v1',
  'application/json;as=PartialObjectMetadataList;g=GROUP;v=v1',
  'application/json;as=Odd;g=GROUP;v=v1',
  'application/xml',
  'text/html',
  'application/json;q=0.5, application/yaml',
  'application/json;stream=watch',
  'bad',
  '*/*',
];

/** One object and its list in all media types. */
export function acceptCases(kind: KindUnderTest): Case[] {
  if (!kind.info.declaration.verbs.includes('list')) return [];
  const meta = `meta.${kind.dialect.apiDomain}`;
  return accepts.flatMap((type, i) => {
    const accept = type.replaceAll('GROUP', meta);
    const id = type.replaceAll('GROUP', 'meta');
    return [
      kind.case(`get as ${id}`, (name) => {
        const object = kind.object(name, i % 2);
        return [kind.post(object), { method: 'GET', path: kind.pathOf(object), accept }];
      }),
      kind.case(`list as ${id}`, (name) => {
        const object = kind.object(name, i % 2);
        object.metadata['labels'] = { peer: name };
        return [
          kind.post(object),
          { method: 'GET', path: `${kind.collection()}?labelSelector=peer%3D${name}`, accept },
        ];
      }),
    ];
  });
}
