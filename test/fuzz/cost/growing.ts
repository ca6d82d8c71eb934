/** Requests for small custom objects that grow by defaults nearly as much as they may, and for a definition that takes long. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { CostRequest } from '#test/fuzz/cost/meter.js';
import { call } from '#test/integration/apiserver/server.js';

const group = 'growing.example.com';
const names = { plural: 'rows', singular: 'row', kind: 'Row', listKind: 'RowList' };
const elements = 1400;
/** Members of the default of each element: some thousand small parts cost more than one long text. */
const members = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, {}]));

/** Each text is compared with all alternatives; the last one fits. */
const anyText = { type: 'string', anyOf: Array.from({ length: 100 }, (_, i) => ({ minLength: 100 - i })) };

/** Defines the kind, creates its objects, and then adds the default to its definition. */
export async function growingRequests(
  server: ApiServer,
  dialect: Dialect,
): Promise<Readonly<Record<string, CostRequest>>> {
  const definitions = `/apis/${dialect.apiVersion('apiextensions', 'v1')}/customresourcedefinitions`;
  const path = `${definitions}/rows.${group}`;
  const rows = `/apis/${group}/v1/namespaces/default/rows`;
  const specOf = (properties: object) => {
    const items = { type: 'object', properties };
    const spec = { type: 'object', properties: { list: { type: 'array', items } } };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    return { group, scope: 'Namespaced', names, versions: [{ name: 'v1', served: true, storage: true, schema }] };
  };
  const created = await call(server, 'POST', definitions, {
    body: { metadata: { name: `rows.${group}` }, spec: specOf({}) },
  });
  // Stands for the controller that accepts the definition's names.
  const conditions = ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' }));
  const status = { conditions, acceptedNames: names, storedVersions: ['v1'] };
  const { json } = await call(server, 'PUT', `${path}/status`, { body: { ...created.json, status } });
  while ((await call(server, 'GET', rows)).status !== 200) await new Promise(setImmediate);
  const row = (name: string) => ({
    apiVersion: `${group}/v1`,
    kind: 'Row',
    metadata: { name },
    spec: { list: Array.from({ length: elements }, () => ({})) },
  });
  for (let i = 0; i < 4; i++) await call(server, 'POST', rows, { body: row(`row${i}`) });
  const additional = { type: 'object', additionalProperties: { type: 'object' }, default: members };
  await call(server, 'PUT', path, { body: { ...json, spec: specOf({ additional }) } });
  while (!(await call(server, 'GET', `${rows}/row0`)).text.includes('additional')) await new Promise(setImmediate);
  const get = (url: string, accept = 'application/json'): CostRequest => ({ method: 'GET', url, headers: { accept } });
  const write = (method: string, url: string, type: string, body: object): CostRequest => ({
    method,
    url: `${url}?dryRun=All&fieldManager=one`,
    headers: { 'content-type': `application/${type}` },
    body: Buffer.from(JSON.stringify(body)),
  });
  const table = `application/json;as=Table;v=v1;g=${dialect.groupName('meta')}`;
  const labels = { metadata: { labels: { a: 'b' } } };
  return {
    'a definition with a default of many alternatives': write('POST', definitions, 'json', {
      metadata: { name: 'others.example.com' },
      spec: {
        ...specOf({ text: { type: 'array', items: anyText, default: Array.from({ length: 1000 }, () => 'a') } }),
        group: 'example.com',
        names: { plural: 'others', kind: 'Other' },
      },
    }),
    'a get of a growing object': get(`${rows}/row0`),
    'a list of growing objects': get(rows),
    'a compressed list of growing objects': {
      ...get(rows),
      headers: { accept: 'application/json', 'accept-encoding': 'gzip' },
    },
    'a table of growing objects': get(rows, table),
    'a table with growing objects': get(`${rows}?includeObject=Object`, table),
    'a create of a growing object': write('POST', rows, 'json', row('new')),
    'a patch of a growing object': write('PATCH', `${rows}/row0`, 'merge-patch+json', labels),
    'an apply of a growing object': write('PATCH', `${rows}/row0`, 'apply-patch+yaml', {
      ...row('row0'),
      ...labels,
      spec: {},
    }),
    'a deletion of a growing object': { method: 'DELETE', url: `${rows}/row0?dryRun=All` },
    'a watch of growing objects': get(`${rows}?watch=true&timeoutSeconds=1`),
    'a watch of a table of growing objects': get(`${rows}?watch=true&timeoutSeconds=1`, table),
  };
}
