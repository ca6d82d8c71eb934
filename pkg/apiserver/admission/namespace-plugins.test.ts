import t from 'tap';
import { configmaps, namespaces, nodes } from '#api/core/v1/resources.gen.js';
import type { Namespace } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { alreadyExists, forbidden, invalid } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes } from '#apiserver/admission/admission.js';
import { AlwaysAdmit } from '#apiserver/admission/always-admit.js';
import { AlwaysDeny } from '#apiserver/admission/always-deny.js';
import { NamespaceAutoProvision } from '#apiserver/admission/namespace-auto-provision.js';
import { NamespaceExists } from '#apiserver/admission/namespace-exists.js';
import { outcomeOf } from '#apiserver/admission/testing/requests.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import type { Client } from '#client/client.js';

const object = { metadata: { name: 'c' } };
const namespace: Namespace = { metadata: { name: 'ns' }, spec: {} };

t.test('writes in missing namespaces are refused', async (t) => {
  const reader = new MemoryObjectReader();
  const plugin = new NamespaceExists({ dialect, reader });
  const missing = '404 namespaces "ns" not found';
  for (const operation of ['CREATE', 'UPDATE', 'DELETE'] as const)
    t.equal(await outcomeOf(plugin, configmaps, { operation, object }), missing, operation);
  t.equal(await outcomeOf(plugin, configmaps, { operation: 'CONNECT', object }), 'admitted', 'a connection');
  t.equal(await outcomeOf(plugin, namespaces, { object: namespace, namespace: 'ns' }), 'admitted', 'namespaces');
  t.equal(await outcomeOf(plugin, nodes, { object }), 'admitted', 'objects without namespace');
  reader.put(namespaces, namespace);
  t.equal(await outcomeOf(plugin, configmaps, { object }), 'admitted', 'an existing namespace');
});

t.test('missing namespaces of new objects are created', async (t) => {
  const reader = new MemoryObjectReader();
  const created: unknown[] = [];
  let failure: Error | undefined;
  const create = async (one: Namespace) => {
    created.push(one);
    if (failure !== undefined) throw failure;
    return one;
  };
  const client = { resource: () => ({ create }) } as unknown as Client;
  const plugin = new NamespaceAutoProvision({ dialect, reader, client: () => client });
  const ask = (more: Partial<AdmissionAttributes> = {}) => outcomeOf(plugin, configmaps, { object, ...more });
  for (const [name, more] of [
    ['an update', { operation: 'UPDATE' }],
    ['a deletion', { operation: 'DELETE' }],
    ['a dry run', { dryRun: true }],
  ] as const)
    t.equal(await ask(more), 'admitted', name);
  t.equal(await outcomeOf(plugin, nodes, { object }), 'admitted', 'an object without namespace');
  t.strictSame(created, [], 'nothing is created for them');
  t.equal(await ask(), 'admitted', 'a creation');
  t.strictSame(created, [namespace], 'its namespace');
  failure = alreadyExists({ group: '', resource: 'namespaces' }, 'ns');
  t.equal(await ask(), 'admitted', 'a namespace that another request has created');
  failure = invalid({ group: '', kind: 'Namespace' }, 'ns', [{ field: 'metadata.name', reason: '', message: 'bad' }]);
  t.equal(await ask(), '403 configmaps "c" is forbidden: Namespace "ns" is invalid: metadata.name: bad', 'a bad name');
  failure = forbidden({ group: '', resource: 'namespaces' }, 'ns', 'no');
  t.equal(await ask(), '403 namespaces "ns" is forbidden: no', 'a refusal');
  reader.put(namespaces, namespace);
  t.equal(await ask(), 'admitted', 'an existing namespace');
});

t.test('AlwaysDeny refuses everything, AlwaysAdmit nothing', async (t) => {
  const denied = '403 configmaps "c" is forbidden: admission control is denying all modifications';
  for (const operation of ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] as const) {
    const request = { operation, object, name: 'c' };
    t.equal(await outcomeOf(new AlwaysDeny(dialect), configmaps, request), denied, operation);
    t.equal(await outcomeOf(new AlwaysAdmit(), configmaps, request), 'admitted', operation);
  }
  t.equal(await outcomeOf(new AlwaysDeny(dialect), configmaps, {}), denied.replace('"c"', '"Unknown"'), 'no object');
});
