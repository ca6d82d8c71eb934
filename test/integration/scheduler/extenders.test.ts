/** Extenders over HTTP with a real API server. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { httpExtenders } from '#scheduler/extenders/http-extender.js';
import { extenderAt, extenderServer } from '#scheduler/extenders/testing/extender-server.js';
import { resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { makeProfiles } from '#scheduler/plugins/profiles.js';
import { defaultContext } from '#scheduler/plugins/registry.js';
import { type Cluster, cluster } from '#test/integration/scheduler/cluster.js';

const placed = ({ spec }: Pod): boolean => (spec.nodeName ?? '') !== '';
const says = (text: string | RegExp) => (pod: Pod) =>
  pod.status?.conditions?.some(({ message = '' }) =>
    typeof text === 'string' ? message.startsWith(text) : text.test(message),
  ) === true;

t.test('an extender filters, ranks and binds', async (t) => {
  let closed = true;
  let api: Cluster | undefined;
  const { calls, url } = await extenderServer(t, {
    sieve: ({ NodeNames, Nodes, Pod }) => {
      t.equal(Nodes, null);
      if (Pod.metadata.name === 'patient' && closed) {
        return { nodeNames: [], failedNodes: { a: 'too loud', b: 'too loud', c: 'too loud' } };
      }
      return { NodeNames: NodeNames?.filter((name) => name !== 'a'), FailedNodes: { a: 'too loud' } };
    },
    rank: ({ NodeNames }) => NodeNames?.map((Host) => ({ Host, Score: Host === 'c' ? 10 : 0 })),
    bind: async ({ Node, PodName, PodNamespace, PodUID }) => {
      const metadata = { name: String(PodName), namespace: String(PodNamespace), uid: String(PodUID) };
      const target = { kind: 'Node', name: String(Node) };
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata, target };
      await api?.client.resource(pods).createSubresource(String(PodName), 'binding', binding, { namespace: 'default' });
      return { Error: '' };
    },
  });
  const verbs = { filterVerb: 'sieve', prioritizeVerb: 'rank', bindVerb: 'bind', weight: 100 };
  const c = await cluster(t, { extenders: [extenderAt(t, url, verbs)] });
  api = c;
  for (const name of ['a', 'b', 'c']) await c.node(name);
  await c.pod('plain');
  t.equal((await c.when('plain', placed)).spec.nodeName, 'c');
  t.same(calls, ['sieve plain', 'rank plain', 'bind plain']);

  await c.pod('patient');
  const waiting = await c.when('patient', says('0/3'));
  t.equal(
    waiting.status?.conditions?.[0]?.message?.split(' preemption')[0],
    '0/3 nodes are available: 3 too loud.',
    'field names in lower case work, too',
  );
  t.match(await c.metrics(), `scheduler_unschedulable_pods{plugin="${url}",profile="default-scheduler"} 1`);
  closed = false;
  // Any event could help a pod that an extender refused.
  await c.client.resource(pods).delete('plain', { namespace: 'default', gracePeriodSeconds: 0 });
  t.equal((await c.when('patient', placed)).spec.nodeName, 'c');
});

t.test('extenders with managed resources, and extenders that fail', async (t) => {
  const first = await extenderServer(t, {
    filter: ({ Nodes }) => ({ Nodes: { items: Nodes?.items.filter(({ metadata }) => metadata.name === 'b') } }),
  });
  const second = await extenderServer(t, { filter: (_question, response) => void response.writeHead(500).end() });
  const settings = {
    nodeCacheCapable: false,
    filterVerb: 'filter',
    managedResources: [{ name: 'example.com/toys', ignoredByScheduler: true }],
  };
  const failing = { filterVerb: 'filter', managedResources: [{ name: 'example.com/tools', ignoredByScheduler: true }] };
  const extenders = [
    extenderAt(t, second.url, { filterVerb: 'filter', ignorable: true }),
    extenderAt(t, first.url, settings),
    extenderAt(t, second.url, failing),
  ];
  const all = [settings, failing].map((each) => ({ ...each, urlPrefix: '' })) as never;
  const profiles = [{ schedulerName: 'default-scheduler', sets: {}, args: {} }];
  const madeProfiles = makeProfiles({ profiles, extenders: all }, dialect, defaultContext);
  const c = await cluster(t, { profiles: madeProfiles, extenders });
  for (const name of ['a', 'b']) await c.node(name);
  const asking = (resource: string) => ({
    containers: [{ name: 'c', image: 'i', resources: { requests: { [resource]: '1' }, limits: { [resource]: '1' } } }],
  });
  await c.pod('toy', asking('example.com/toys'));
  t.equal((await c.when('toy', placed)).spec.nodeName, 'b');
  t.same(first.calls, ['filter toy']);
  await c.pod('plain');
  await c.when('plain', placed);
  t.same(first.calls, ['filter toy'], 'it is not called for other pods');
  t.same(second.calls, ['filter toy', 'filter plain'], 'failures of an ignorable extender are ignored');
  await c.pod('tool', asking('example.com/tools'));
  const failed = await c.when('tool', ({ status }) => status?.conditions?.[0]?.reason === 'SchedulerError');
  t.equal(failed.status?.conditions?.[0]?.message, `failed filter with extender at URL ${second.url}/filter, code 500`);
});

t.test('extenders choose among victims', async (t) => {
  const questions: unknown[] = [];
  const { url } = await extenderServer(t, {
    preempt: ({ NodeNameToMetaVictims }) => {
      questions.push(NodeNameToMetaVictims);
      const { b } = NodeNameToMetaVictims as Record<string, unknown>;
      return { NodeNameToMetaVictims: { b } };
    },
  });
  const c = await cluster(t, { extenders: [extenderAt(t, url, { preemptVerb: 'preempt' })] });
  const big = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '2' } } }] };
  const uids: Record<string, string | undefined> = {};
  for (const name of ['a', 'b']) {
    await c.node(name, {}, { name });
    await c.pod(`on-${name}`, { ...big, nodeSelector: { name } });
    uids[name] = (await c.when(`on-${name}`, placed)).metadata.uid;
  }
  await c.pod('urgent', { ...big, priority: 1000 });
  const pod = await c.when('urgent', ({ status }) => (status?.nominatedNodeName ?? '') !== '');
  t.equal(pod.status?.nominatedNodeName, 'b');
  const victims = (name: string) => ({ Pods: [{ UID: uids[name] }], NumPDBViolations: 0 });
  t.same(questions[0], { a: victims('a'), b: victims('b') });
  t.equal((await c.when('on-a', () => true)).metadata.deletionTimestamp, undefined);
});

t.test('the example works', async (t) => {
  /** Tests run from dist/test/integration/scheduler. */
  const folder = new URL('../../../../examples/scheduler-extender/', import.meta.url);
  const { extender } = (await import(new URL('extender.mjs', folder).href)) as { extender: Server };
  extender.listen(0, '127.0.0.1');
  await once(extender, 'listening');
  t.teardown(() => {
    extender.closeAllConnections();
    extender.close();
  });
  const source = fileURLToPath(new URL('config.yaml', folder));
  const { port } = extender.address() as AddressInfo;
  const text = (await readFile(source, 'utf8')).replace(':8888', `:${port}`);
  const table = schedulerOptions(dialect);
  const parsed = parseOptions(table, [], { program: 'x' });
  if (parsed.kind !== 'run') throw new Error('no run');
  const { options, settings } = resolveScheduler(parsed, { table, dialect, file: { source, text } });
  t.same(options.warnings, []);
  const extenders = await httpExtenders(settings.extenders, { clock: realClock, env: {}, log });
  const c = await cluster(t, { extenders });
  await c.node('node-1', {}, { 'example.com/rack': 'r1' });
  await c.node('n2', {}, { 'example.com/rack': 'r2' });
  await c.node('n-three', {}, { 'example.com/rack': 'r2' });
  const create = (name: string, rack: string) =>
    c.client.resource(pods).create({
      metadata: { name, namespace: 'default', annotations: { 'example.com/rack': rack } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
  await create('one', 'r1');
  t.equal((await c.when('one', placed)).spec.nodeName, 'node-1');
  await create('two', 'r2');
  t.equal((await c.when('two', placed)).spec.nodeName, 'n2');
  await create('none', 'r3');
  const waiting = await c.when('none', says('0/3'));
  t.match(
    waiting.status?.conditions?.[0]?.message,
    '0/3 nodes are available: 3 node(s) are not in rack r3. preemption: ',
  );
  t.match(waiting.status?.conditions?.[0]?.message, '3 Preemption is not helpful for scheduling.');
});
