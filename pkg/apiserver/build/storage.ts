/** The etcd stores that the options name, the encryption of their values, and the caches over them. */
import { randomBytes } from 'node:crypto';
import { schemeFor } from '#api/scheme.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { readOptionalFile } from '#apiserver/build/option-files.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import { parseOverride } from '#apiserver/options/etcd-overrides.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { ResourceStorages } from '#apiserver/resources/storages.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { OptionsError } from '#daemon/options/option.js';
import { type EncryptionRule, parseEncryptionConfig } from '#storage/encryption/encryption-config.js';
import type { KeyProbe } from '#storage/encryption/key-probe.js';
import {
  type ResourceEncryption,
  type ResourceEncryptionOptions,
  resourceEncryption,
} from '#storage/encryption/resource-encryption.js';
import { readEtcdFiles } from '#storage/etcd/etcd-files.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { createStorageMetrics, type StorageMetrics } from '#storage/metrics.js';
import { ResourceStores } from '#storage/resource-stores.js';
import type { Store } from '#storage/store.js';

export interface StorageParts {
  readonly stores: ResourceStores;
  readonly storages: ResourceStorages;
  readonly reader: StorageObjectReader;
  readonly metrics: StorageMetrics;
  /** Of the key management services. */
  readonly keyProbes: readonly KeyProbe[];
  /** Closes the connections to key management services. */
  readonly releaseKeys: () => void;
}

export interface StorageSetup {
  readonly gate: (name: string) => boolean;
  /** Absent: the etcd that the options name. */
  readonly mainStore: Store | undefined;
}

/** Opens the stores without connecting yet. Throws OptionsError. */
export async function buildStorage(
  values: ApiServerValues,
  environment: ServerEnvironment,
  { gate, mainStore }: StorageSetup,
): Promise<StorageParts> {
  const { dialect, clock, turns, random, log } = environment;
  const metrics = createStorageMetrics(environment.metrics);
  const stores = await openStores(values, { environment, metrics, mainStore });
  const encryption = await buildEncryption(values, { dialect, clock, metrics });
  const { transformers } = encryption;
  const prefix = etcdRoot(values['etcd-prefix']);
  const storages = new ResourceStorages({
    ...{ dialect, store: stores, clock, turns, random, log, metrics, prefix, transformers, gate },
  });
  for (const resource of storages.unknown(transformers.keys())) {
    log.warn({ resource }, 'the encryption configuration names a resource that this server does not store');
  }
  const { resources } = schemeFor(dialect);
  for (const resource of storages.unknown(stores.named)) {
    // Definitions may create resources of groups that are not built in.
    if (resources.some(({ groupName }) => resource.endsWith(`.${groupName}`) || !resource.includes('.')))
      log.warn({ resource }, '--etcd-servers-overrides names a resource that this server does not store');
  }
  const reader = new StorageObjectReader({ storageOf: (resource) => storages.find(resource), turns, clock, log });
  return {
    ...{ stores, storages, reader, metrics },
    keyProbes: encryption.probes,
    releaseKeys: () => encryption.close(),
  };
}

interface StoreSetup extends Pick<StorageSetup, 'mainStore'> {
  readonly environment: ServerEnvironment;
  readonly metrics: StorageMetrics;
}

async function openStores(values: ApiServerValues, setup: StoreSetup): Promise<ResourceStores> {
  const { mainStore } = setup;
  const overrides = values['etcd-servers-overrides'].flatMap((text) => parseOverride(text) ?? []);
  if (mainStore !== undefined && overrides.length === 0) return new ResourceStores(mainStore);
  const open = await storeOpener(values, setup);
  const endpoints = values['etcd-servers'];
  if (mainStore === undefined && endpoints.length === 0) throw new OptionsError(['--etcd-servers must be specified']);
  const main = mainStore ?? open(endpoints);
  // Resources with the same servers share connections, watches and compactions.
  const opened = new Map<string, Store>(mainStore === undefined ? [[endpointsKey(endpoints), main]] : []);
  return new ResourceStores(
    main,
    overrides.map(({ group, resource, servers }) => {
      const key = endpointsKey(servers);
      const store = opened.get(key) ?? open(servers);
      opened.set(key, store);
      return { resource: group === '' ? resource : `${resource}.${group}`, store };
    }),
  );
}

function endpointsKey(endpoints: readonly string[]): string {
  return [...endpoints]
    .map((endpoint) => endpoint.replace(/\/$/, ''))
    .sort()
    .join(';');
}

/** All stores use the same credentials. */
async function storeOpener(
  values: ApiServerValues,
  { environment, metrics }: StoreSetup,
): Promise<(endpoints: readonly string[]) => Store> {
  const { clock, egress, random, log, tracer, metrics: registry } = environment;
  const tls = await readEtcdFiles(values);
  holdCertificate(registry, 'etcd-client', async () => (await tls?.readOrLast())?.cert);
  holdCertificate(registry, 'etcd-authority', async () => (await tls?.readOrLast())?.ca);
  return (endpoints) =>
    new EtcdStore({
      endpoints,
      ...(tls === undefined ? {} : { tls: () => tls.readOrLast() }),
      root: etcdRoot(values['etcd-prefix']),
      dial: egress?.dialOf('etcd'),
      leaseReuseSeconds: values['lease-reuse-duration-seconds'],
      leaseRetired: (keys) => metrics.leaseObjects.observe(keys),
      healthTimeoutMs: values['etcd-healthcheck-timeout'],
      clock,
      random,
      log,
      tracer,
    });
}

export interface EncryptionDependencies extends Pick<ServerEnvironment, 'dialect' | 'clock'> {
  readonly metrics: StorageMetrics;
}

/** Encrypts nothing without the option. Throws OptionsError. */
export async function buildEncryption(
  values: ApiServerValues,
  { dialect, clock, metrics }: EncryptionDependencies,
): Promise<ResourceEncryption> {
  const path = values['encryption-provider-config'];
  const text = await readOptionalFile('encryption-provider-config', path);
  if (text === undefined) return { transformers: new Map(), probes: [], close: () => undefined };
  try {
    const rules = parseEncryptionConfig(text, dialect);
    const openService = await serviceOpener(rules, clock);
    const reserved = dialect.encryptedPrefix;
    return resourceEncryption(rules, { reserved, random: randomBytes, clock, metrics, openService });
  } catch (err) {
    if (!(err instanceof OptionsError)) throw err;
    throw new OptionsError(err.messages.map((message) => `--encryption-provider-config: ${path}: ${message}`));
  }
}

/** Loads gRPC, which takes memory and time, only for a configuration that needs it. */
async function serviceOpener(
  rules: readonly EncryptionRule[],
  clock: ServerEnvironment['clock'],
): Promise<ResourceEncryptionOptions['openService']> {
  if (!rules.some(({ providers }) => providers.some(({ type }) => type === 'kms'))) {
    return ({ name }) => {
      throw new TypeError(`no configuration has the service ${name}`);
    };
  }
  const { GrpcKeyService } = await import('#storage/encryption/grpc-key-service.js');
  return ({ socket, timeoutMs }) => new GrpcKeyService({ socket, timeoutMs, clock });
}
