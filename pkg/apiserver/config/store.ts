/** From options to etcd. */
import type { Clock } from '#apimachinery/clock.js';
import { readOptionalFile } from '#apiserver/config/files.js';
import { parseOverride } from '#apiserver/options/etcd-overrides.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/errors.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { ResourceStores } from '#storage/resource-stores.js';
import type { Store } from '#storage/store.js';

export interface StoreDependencies {
  readonly metrics: StorageMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Absent: nothing is traced. */
  readonly tracer: Tracer | undefined;
}

/**
 * The stores that the options describe, the main one unless it is `given`; nothing is sent yet. `wrap` is put around each.
 * Throws OptionsError.
 */
export async function openStores(
  values: ApiServerValues,
  dependencies: StoreDependencies,
  { given, wrap }: { readonly given: Store | undefined; readonly wrap: (store: Store) => Store },
): Promise<ResourceStores> {
  const overrides = values['etcd-servers-overrides'].map(parseOverride);
  if (given !== undefined && overrides.length === 0) return new ResourceStores(wrap(given));
  const open = await storeOpener(values, dependencies);
  const endpoints = values['etcd-servers'];
  if (given === undefined && endpoints.length === 0) throw new OptionsError(['--etcd-servers must be specified']);
  const main = wrap(given ?? open(endpoints));
  // Resources with the same servers share connections, watches and compactions.
  const opened = new Map<string, Store>(given === undefined ? [[keyOf(endpoints), main]] : []);
  return new ResourceStores(
    main,
    overrides.map(({ group, resource, servers }) => {
      const key = keyOf(servers);
      const store = opened.get(key) ?? wrap(open(servers));
      opened.set(key, store);
      return { resource: group === '' ? resource : `${resource}.${group}`, store };
    }),
  );
}

function keyOf(endpoints: readonly string[]): string {
  return [...endpoints]
    .map((endpoint) => endpoint.replace(/\/$/, ''))
    .sort()
    .join(';');
}

/** Opens a store at those endpoints, with the credentials of all. */
async function storeOpener(
  values: ApiServerValues,
  { metrics, clock, random, log, tracer }: StoreDependencies,
): Promise<(endpoints: readonly string[]) => Store> {
  const [ca, cert, key] = await Promise.all([
    readOptionalFile('etcd-cafile', values['etcd-cafile']),
    readOptionalFile('etcd-certfile', values['etcd-certfile']),
    readOptionalFile('etcd-keyfile', values['etcd-keyfile']),
  ]);
  const tls = {
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(cert === undefined ? {} : { cert: Buffer.from(cert) }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
  };
  return (endpoints) =>
    new EtcdStore({
      endpoints,
      ...(Object.keys(tls).length === 0 ? {} : { tls }),
      root: values['etcd-prefix'].replace(/\/$/, ''),
      leaseReuseSeconds: values['lease-reuse-duration-seconds'],
      leaseRetired: (keys) => metrics.leaseObjects.observe(keys),
      healthTimeoutMs: values['etcd-healthcheck-timeout'],
      clock,
      random,
      log,
      tracer,
    });
}
