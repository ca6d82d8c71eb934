/** From options to etcd. */
import type { Clock } from '#apimachinery/clock.js';
import { readOptionalFile } from '#apiserver/config/files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/errors.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type { Store } from '#storage/store.js';

export interface StoreDependencies {
  readonly metrics: StorageMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** The store that the options describe; nothing is sent yet. Throws OptionsError. */
export async function openStore(
  values: ApiServerValues,
  { metrics, clock, random, log }: StoreDependencies,
): Promise<Store> {
  const endpoints = values['etcd-servers'];
  if (endpoints.length === 0) throw new OptionsError(['--etcd-servers must be specified']);
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
  return new EtcdStore({
    endpoints,
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    root: values['etcd-prefix'].replace(/\/$/, ''),
    leaseReuseSeconds: values['lease-reuse-duration-seconds'],
    leaseRetired: (keys) => metrics.leaseObjects.observe(keys),
    healthTimeoutMs: values['etcd-healthcheck-timeout'],
    clock,
    random,
    log,
  });
}
