/** From options to etcd. */

import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import { parseOverride } from '#apiserver/options/etcd-overrides.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { readEtcdFiles } from '#storage/etcd/etcd-files.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { StorageMetrics } from '#storage/metrics.js';
import { ResourceStores } from '#storage/resource-stores.js';
import type { Store } from '#storage/store.js';

export interface StoreDependencies {
  readonly metrics: StorageMetrics;
  /** Of those metrics, and of others. */
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Absent: nothing is traced. */
  readonly tracer: Tracer | undefined;
}

/**
 * The stores that the options describe, the main one unless it is `given`; nothing is sent yet. Throws OptionsError.
 */
export async function openStores(
  values: ApiServerValues,
  dependencies: StoreDependencies,
  given: Store | undefined,
): Promise<ResourceStores> {
  const overrides = values['etcd-servers-overrides'].flatMap((text) => parseOverride(text) ?? []);
  if (given !== undefined && overrides.length === 0) return new ResourceStores(given);
  const open = await storeOpener(values, dependencies);
  const endpoints = values['etcd-servers'];
  if (given === undefined && endpoints.length === 0) throw new OptionsError(['--etcd-servers must be specified']);
  const main = given ?? open(endpoints);
  // Resources with the same servers share connections, watches and compactions.
  const opened = new Map<string, Store>(given === undefined ? [[keyOf(endpoints), main]] : []);
  return new ResourceStores(
    main,
    overrides.map(({ group, resource, servers }) => {
      const key = keyOf(servers);
      const store = opened.get(key) ?? open(servers);
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
  { metrics, registry, clock, random, log, tracer }: StoreDependencies,
): Promise<(endpoints: readonly string[]) => Store> {
  const tls = await readEtcdFiles(values);
  holdCertificate(registry, 'etcd-client', async () => (await tls?.readOrLast())?.cert);
  holdCertificate(registry, 'etcd-authority', async () => (await tls?.readOrLast())?.ca);
  return (endpoints) =>
    new EtcdStore({
      endpoints,
      ...(tls === undefined ? {} : { tls: () => tls.readOrLast() }),
      root: etcdRoot(values['etcd-prefix']),
      leaseReuseSeconds: values['lease-reuse-duration-seconds'],
      leaseRetired: (keys) => metrics.leaseObjects.observe(keys),
      healthTimeoutMs: values['etcd-healthcheck-timeout'],
      clock,
      random,
      log,
      tracer,
    });
}
