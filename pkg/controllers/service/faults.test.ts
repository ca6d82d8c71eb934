/**
 * Bare-metal addresses under random faults (rejected, lost and late requests, lagging caches), with successive or
 * concurrent managers: no address is ever allocated to two services, and finally all possible services have an address.
 */

import t from 'tap';
import { nodes, services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict, internalError, type StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { ApiObject, Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { frozen } from '#client/testing/frozen.js';
import { bareMetalConfig, bareMetalProvider } from '#cloud/baremetal/provider.js';
import type { Controller } from '#controllers/framework/context.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { losingResponses } from '#controllers/framework/testing/lost-responses.js';
import { ServiceController } from '#controllers/service/controller.js';
import { silentLogger } from '#daemon/log/logger.js';

const seeds = Array.from({ length: 15 }, (_, i) => 9080 + i);
const names = Array.from({ length: 8 }, (_, i) => `s${i}`);
const config = `
apiVersion: baremetal.config.orch.io/v1alpha1
kind: BareMetalConfiguration
pools:
- {name: a, addresses: [192.0.2.1-192.0.2.5]}
- {name: b, addresses: [192.0.2.10], autoAssign: false}
`;
const sharing = 'bare-metal.orch.io/sharing-key';

const addressesOf = (service: Service) => (service.status?.loadBalancer?.ingress ?? []).map(({ ip = '' }) => ip);

/** Addresses that two services have without sharing. */
function twice(all: readonly Service[]): string[] {
  const seen = new Map<string, Service>();
  return all.flatMap((service) =>
    addressesOf(service).filter((address) => {
      const other = seen.get(address);
      seen.set(address, service);
      const key = service.metadata.annotations?.[sharing];
      return other !== undefined && (key === undefined || key !== other.metadata.annotations?.[sharing]);
    }),
  );
}

/** A client whose writes may be delayed for a long time. */
function delaying(client: Client, delay: () => Promise<void>): Client {
  return {
    dialect: client.dialect,
    resource: <T extends ApiObject>(type: ResourceType<T>) =>
      new Proxy(client.resource(type), {
        get(inner, verb: 'updateStatus') {
          const call = inner[verb].bind(inner);
          if (verb !== 'updateStatus') return call;
          return async (...given: Parameters<typeof call>) => {
            await delay();
            return call(...given);
          };
        },
      }),
    request: (...given) => client.request(...given),
    close: () => client.close(),
  };
}

for (const seed of seeds) {
  t.test(`seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const harness = new Harness(t, [services, nodes]);
    const { api, clock, dialect } = harness;
    let isFaulty = true;
    const late = delaying(harness.context.client, async () => {
      if (isFaulty && random() < 0.1) await clock.sleep(Math.floor(random() * 90_000));
    });
    const client = losingResponses(late, () => isFaulty && random() < 0.08);
    const read = bareMetalConfig(async () => config, 'config');
    const { loadBalancers } = await bareMetalProvider(dialect, read);
    if (loadBalancers === undefined) throw new TypeError('no load balancers');

    // Managers start and stop, sometimes two at a time, each with its own caches.
    const running: { stop: AbortController; work: Promise<unknown>[] }[] = [];
    const boot = () => {
      const stop = new AbortController();
      const informers = new SharedInformerFactory({
        client: api.client,
        clock,
        random,
        log: silentLogger,
        transform: frozen,
      });
      const context = { ...harness.context, client, informers };
      const controller: Controller = new ServiceController(context, {
        balancers: loadBalancers,
        cluster: 'c',
        concurrency: 3,
      });
      running.push({ stop, work: [informers.start(stop.signal), controller.run(stop.signal)] });
    };
    const shift = () => {
      const oldest = running.shift();
      oldest?.stop.abort();
      return oldest?.work ?? [];
    };
    const ended: Promise<unknown>[] = [];
    t.teardown(async () => {
      while (running.length > 0) ended.push(...shift());
      for (let i = 0; i < 4; i += 1) await harness.advance(100_000);
      await Promise.all(ended);
    });
    const problems: string[] = [];
    const check = () => {
      problems.push(...twice(api.list(services)));
    };
    boot();
    await harness.start();
    const heal = api.intercept((call): StatusError | undefined => {
      check();
      const dice = random();
      if (!isFaulty) return undefined;
      if (dice < 0.05) return internalError(new Error('fault'));
      if (dice < 0.1) return conflict({ group: '', resource: call.resource }, call.name ?? '', 'fault');
      return dice < 0.12 ? tooManyRequests('fault', 1) : undefined;
    });

    let generation = 0;
    const make = (name: string) => {
      generation += 1;
      const dice = random();
      api.seed<Service>(services, {
        metadata: {
          name,
          namespace: 'n',
          uid: `${name}-${generation}`,
          creationTimestamp: formatTime(clock.now()),
          ...(dice < 0.15 ? { annotations: { [sharing]: 'k' } } : {}),
        },
        spec: {
          type: 'LoadBalancer',
          ports: [{ port: 1000 + generation, targetPort: 80 }],
          ...(dice > 0.7 ? { loadBalancerIP: random() < 0.5 ? '192.0.2.2' : '192.0.2.10' } : {}),
        },
      });
    };
    const edit = (name: string, change: (service: Draft<Service>) => void) => {
      if (api.get(services, `n/${name}`) !== undefined) api.change<Service>(services, `n/${name}`, change);
    };
    const remove = (name: string) => {
      const { finalizers = [] } = api.get(services, `n/${name}`)?.metadata ?? {};
      if (finalizers.length === 0) api.remove(services, `n/${name}`);
      else {
        edit(name, ({ metadata }) => {
          metadata.deletionTimestamp = formatTime(clock.now());
        });
      }
    };
    const thaw: (() => void)[] = [];
    const act = () => {
      const name = names[Math.floor(random() * names.length)] ?? '';
      const dice = random();
      if (dice < 0.06) api.dropWatches();
      else if (dice < 0.14) thaw.push(harness.freeze('services'));
      else if (dice < 0.3) thaw.pop()?.();
      else if (dice < 0.34) api.compact();
      else if (dice < 0.42) boot();
      else if (dice < 0.5) ended.push(...(running.length > 1 ? shift() : []));
      else if (api.get(services, `n/${name}`) === undefined) make(name);
      else if (dice < 0.7) remove(name);
      else if (dice < 0.75) {
        edit(name, ({ spec }) => {
          spec.type = spec.type === 'LoadBalancer' ? 'ClusterIP' : 'LoadBalancer';
        });
      } else if (dice < 0.8) {
        // Users can write any annotation and status.
        edit(name, ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, 'bare-metal.orch.io/addresses': '192.0.2.3,10.0.0.1,::1' };
        });
      } else if (dice < 0.85) {
        edit(name, ({ spec }) => {
          spec.loadBalancerIP = '192.0.2.4';
        });
      }
    };
    for (let i = 0; i < 60; i += 1) {
      act();
      await harness.advance(Math.floor(random() * 5000));
      check();
    }
    isFaulty = false;
    for (const undo of thaw) undo();
    for (let i = 0; i < 20; i += 1) await harness.advance(60_000);
    check();
    heal();
    t.same(problems, [], 'no address is shared by two services');
    const left = api.list(services);
    const balanced = left.filter(({ spec }) => spec.type === 'LoadBalancer');
    for (const service of left) {
      t.equal(service.metadata.deletionTimestamp, undefined, 'deleted services are removed');
      if (!balanced.includes(service))
        t.same(addressesOf(service), [], 'services of other types have no load balancer');
    }
    const inUse = new Set(balanced.flatMap(addressesOf));
    for (const service of balanced) {
      const { loadBalancerIP } = service.spec;
      const [address] = addressesOf(service);
      if (address === undefined) {
        t.ok(
          loadBalancerIP === undefined ? inUse.size >= 5 : inUse.has(loadBalancerIP),
          'services lack an address only when all are in use',
        );
      } else if (loadBalancerIP !== undefined && !inUse.has(loadBalancerIP)) t.fail(`${loadBalancerIP} is free`);
    }
  });
}
