/** A kind of a definition, for tests that iterate over all kinds. */

import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { AnyCase, Draft } from '#test/integration/apiserver/resources/resource-case.js';
import { call } from '#test/integration/apiserver/server.js';

const group = 'shared.example.com';
const names = { plural: 'rows', singular: 'row', kind: 'Row', listKind: 'RowList' };
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const element = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, value: { type: 'string', default: 'none' } },
};
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer', default: 1 },
        texts: { type: 'object', additionalProperties: { type: 'string' } },
        template: { type: 'object', default: { a: { b: ['c'] } }, 'x-kubernetes-preserve-unknown-fields': true },
        list: {
          type: 'array',
          items: element,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      },
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};

const resource = {
  resource: names.plural,
  kind: names.kind,
  group,
  version: 'v1',
  namespaced: true,
  subresources: [{ name: 'status' }],
} as unknown as ResourceDeclaration;

const object = (): Draft => ({
  apiVersion: `${group}/v1`,
  kind: names.kind,
  metadata: { name: 'row' },
  spec: { texts: {}, list: [{ name: 'a' }, { name: 'b', value: 'x' }] },
});

export const customCase: AnyCase = {
  resource,
  object,
  defaults: () => ({ 'spec.replicas': 1 }),
  invalid: object,
  causes: [],
  cells: {},
};

/** Resolves once the kind is served. */
export async function defineCustom(server: Pick<ApiServer, 'handler'>, { apiDomain }: Dialect): Promise<void> {
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  const versions = [{ ...version, subresources: { status: {} } }];
  const path = definitions.replace('k8s.io', apiDomain);
  const body = { metadata: { name: `rows.${group}` }, spec: { group, scope: 'Namespaced', names, versions } };
  const { json, status: code, text } = await call(server, 'POST', path, { body });
  if (code !== 201) throw new Error(text);
  const conditions = ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' }));
  const status = { conditions, acceptedNames: names, storedVersions: ['v1'] };
  const put = await call(server, 'PUT', `${path}/rows.${group}/status`, { body: { ...json, status } });
  if (put.status !== 200) throw new Error(put.text);
  for (;;) {
    const list = await call(server, 'GET', `/apis/${group}/v1/namespaces/default/rows`);
    if (list.status === 200) return;
    await new Promise(setImmediate);
  }
}
