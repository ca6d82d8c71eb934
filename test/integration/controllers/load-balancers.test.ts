/** The examples of docs/load-balancers.md against a real API server over etcd, with a change of the manager. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { events, nodes, services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { cloudProvider } from '#cloud/registry.js';
import { ControllerManager } from '#controllers/manager.js';
import { controllerManagerValues } from '#controllers/options/options.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { root } from '#test/e2e/harness.js';
import { startEtcd } from '#test/etcd.js';
import { until } from '#test/integration/controllers/cluster.js';
import { startApi } from '#test/integration/daemons/api.js';

t.setTimeout(180_000);

const where = { namespace: 'default' };

/** The page's YAML in the dialect: the configuration and the services. */
async function examples(dialect: Dialect): Promise<{ config: string; shown: Service[] }> {
  const page = await readFile(join(root, 'docs', 'load-balancers.md'), 'utf8');
  const [config = '', objects = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) =>
    text.replaceAll('.orch.io', `.${dialect.labelDomain}`),
  );
  const shown = parseAllDocuments(objects).map((document) => document.toJS() as Service);
  const { apiVersion } = parse(config) as { apiVersion: string };
  return { config: config.replace(apiVersion, `baremetal.config.${dialect.apiDomain}/v1alpha1`), shown };
}

/** Two managers may run at the same time. */
async function startManager(client: Client, dialect: Dialect, config: string) {
  const recorder = new ApiEventRecorder({ client, source: { component: 'test' }, clock, random: Math.random, log });
  const provider = { provider: 'bare-metal', configFile: 'cloud.yaml', dialect, disabled: false };
  const cloud = await cloudProvider({ ...provider, read: async () => config });
  if (cloud === undefined) throw new TypeError('no provider');
  const manager = new ControllerManager(
    controllerManagerValues(dialect, {
      'leader-elect': false,
      controllers: ['service', 'cloud-node-lifecycle'],
      'cloud-provider': 'bare-metal',
      'concurrent-service-syncs': 4,
      'node-monitor-period': 100,
    }),
    { client, dialect, clock, random: Math.random, log, events: () => recorder, metrics: new Registry(), cloud },
  );
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  await manager.ready();
  return async () => {
    stop.abort();
    await running;
    await manager.close();
    await recorder.close();
  };
}

const addressesOf = ({ status }: Service) => (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(dialect.name, async (t: Test) => {
    const etcd = await startEtcd();
    t.teardown(() => etcd.stop());
    const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
    const { client } = await startApi(t, { dialect, mode: 'AlwaysAllow', store });
    const { config, shown } = await examples(dialect);
    let stop = await startManager(client, dialect, config);
    t.teardown(() => stop());
    const resource = client.resource(services);
    for (const service of shown) await resource.create({ ...service, metadata: { ...service.metadata, ...where } });
    const addresses = async (name: string, count: number) => {
      const service = await until(
        `${name} has addresses`,
        () => resource.get(name, where),
        (service) => addressesOf(service).length === count,
      );
      return addressesOf(service);
    };
    t.same(await addresses('shop', 1), ['192.0.2.0']);
    t.same(await addresses('mail', 1), ['198.51.100.7']);
    const { metadata } = await resource.get('shop', where);
    t.same(metadata.finalizers, [dialect.finalizers.loadBalancerCleanup]);

    t.test('listed machines', async (t) => {
      await client.resource(nodes).create({ metadata: { name: 'stray' }, spec: {} });
      await client.resource(nodes).create({ metadata: { name: 'node-2' }, spec: {} });
      const isGone = () =>
        client
          .resource(nodes)
          .get('stray')
          .then(() => false, isNotFound);
      await until('a node without a machine goes', isGone, (gone) => gone);
      const node = await until(
        'a machine that is shut down is tainted',
        () => client.resource(nodes).get('node-2'),
        ({ spec }) => spec.taints?.some(({ key }) => key === dialect.taints.shutdown) === true,
      );
      t.ok(node);
    });

    t.test('many services, with successive managers', async (t) => {
      const names = Array.from({ length: 20 }, (_, i) => `s${i}`);
      const spec = { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 80 }] };
      const creations = names.map((name) => resource.create({ metadata: { name, ...where }, spec }));
      const second = await startManager(client, dialect, config);
      await stop();
      stop = second;
      await Promise.all(creations);
      // The pool has sixteen addresses; one belongs to the shop.
      const withAddress = async () => {
        const { items } = await resource.list(where);
        return items.filter(({ metadata }) => metadata.name?.startsWith('s')).flatMap(addressesOf);
      };
      const given = await until('the pool is given out', withAddress, (list) => list.length === 16);
      t.equal(new Set(given).size, 16, 'each address has one service');
      const full = 'failed to ensure load balancer: no free IPv4 address in the pools that the service may use';
      const failures = await until(
        'the other services get an event',
        () => client.resource(events).list(where),
        ({ items }) => items.some(({ message }) => message === `Error syncing load balancer: ${full}`),
      );
      t.ok(failures.items.some(({ reason }) => reason === 'SyncLoadBalancerFailed'));
    });

    t.test('released addresses are reused', async (t) => {
      await resource.delete('mail', where);
      const isGone = () => resource.get('mail', where).then(() => false, isNotFound);
      t.ok(await until('it goes', isGone, (gone) => gone));
      const mail = shown.find(({ metadata }) => metadata.name === 'mail');
      await resource.create({ ...mail, metadata: { ...mail?.metadata, name: 'next', ...where } } as Service);
      t.same(await addresses('next', 1), ['198.51.100.7']);
    });
  });
}
