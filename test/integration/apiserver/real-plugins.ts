/** The release's plugins and hooks, for test servers that are assembled by hand. */
import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import { admissionPlugins } from '#apiserver/admission/chain/plugins.js';
import { LockoutWarnings } from '#apiserver/admission/webhook/lockout-warnings.js';
import { WebhookMetrics } from '#apiserver/admission/webhook/webhook-metrics.js';
import { AlwaysAllowAuthorizer } from '#apiserver/authorization/authorize.js';
import { buildServiceNetwork } from '#apiserver/build/service-network.js';
import { StorageObjectReader } from '#apiserver/objects/storage-object-reader.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import type { ResourceStorages } from '#apiserver/resources/storages.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';
import type { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import type { Store } from '#storage/store.js';

export interface ServerParts {
  readonly dialect: Dialect;
  readonly storages: ResourceStorages;
  readonly store: Store;
  readonly turns: TurnQueue;
  readonly metrics: Registry;
}

export interface RealParts {
  readonly plugins: readonly AdmissionPlugin[];
  readonly hooks: readonly WriteHook[];
}

export async function realParts({ dialect, storages, store, turns, metrics }: ServerParts): Promise<RealParts> {
  const parsed = parseOptions(apiServerOptions(dialect), [], { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(`options are for "${parsed.kind}"`);
  const storageOf = (resource: Parameters<ResourceStorages['find']>[0]) => storages.find(resource);
  const reader = new StorageObjectReader({ storageOf, turns, clock, log });
  const authorizer = new AlwaysAllowAuthorizer();
  const client = { post: () => Promise.reject(new Error('this server asks no webhooks')) } as unknown as WebhookClient;
  const plugins = await admissionPlugins(
    {
      dialect,
      reader,
      authorizer,
      clock,
      storageOf,
      turns,
      metrics,
      gate: () => true,
      random: Math.random,
      notReadySeconds: 300,
      unreachableSeconds: 300,
      client: () => {
        throw new Error('this server has no client of itself');
      },
      openBackend: () => Promise.reject(new Error('no webhooks')),
      webhooks: { client, metrics: new WebhookMetrics(metrics), log, newUID: randomUUID },
    },
    { enabled: ['NodeRestriction'], disabled: [] },
  );
  const { allocator } = buildServiceNetwork({ values: parsed.values, store, random: Math.random, dialect, metrics });
  return { plugins: [...plugins, new LockoutWarnings({ dialect, reader })], hooks: [allocator] };
}
