/** The socket that the server listens on, its certificate, and the limits of requests. */

import { processClock } from '#apimachinery/clock.js';
import type { ApiServerOptions, ListenOptions } from '#apiserver/build/api-server.js';
import type { ClientAuthorities } from '#apiserver/build/client-authorities.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { watchCacheOptions } from '#apiserver/build/watch-cache.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { WorkerLink } from '#apiserver/workers/worker-link.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { loadServingCertificates, pairOf, servingFiles } from '#daemon/serving/serving-certificate.js';
import { opensslCipher } from '#daemon/serving/tls-names.js';
import type { ServerCapacity, TLSMaterial } from '#http/server/server-options.js';

export interface ServingSetup {
  /** Without authorities, the server requests no client certificates. */
  readonly authorities: Pick<ClientAuthorities, 'all'>;
  /** Memory that the process may use. */
  readonly memoryBytes?: number | undefined;
  readonly listenOnAnyPort?: boolean | undefined;
  readonly worker: Pick<WorkerLink, 'partOf'> | undefined;
}

export interface ServingParts {
  readonly options: ApiServerOptions;
  /** Certificate files that may be replaced while the server runs. */
  readonly files: readonly string[];
  /** Reads them again. */
  readonly load: () => Promise<TLSMaterial>;
}

/** Throws OptionsError for a certificate that cannot be read or created. */
export async function buildServing(
  values: ApiServerValues,
  { clock, clusterClock = clock, random, metrics }: ServerEnvironment,
  { authorities, memoryBytes, listenOnAnyPort = false, worker }: ServingSetup,
): Promise<ServingParts> {
  // Clients compare the certificate with their own time.
  const load = () => loadServing(values, processClock(clusterClock), authorities);
  const limits = limitOptions(values, memoryBytes, worker);
  if (values['secure-port'] === 0 && !listenOnAnyPort) return { options: limits, files: [], load };
  let tls = await load();
  holdCertificate(metrics, 'serving', () => tls.cert);
  const chance = values['goaway-chance'];
  const listen: ListenOptions = {
    host: values['bind-address'] === '' ? '0.0.0.0' : values['bind-address'],
    port: listenOnAnyPort ? 0 : values['secure-port'],
    tls,
    capacity: capacityOf(values, memoryBytes, worker),
    maxConcurrentStreams: values['http2-max-streams-per-connection'],
    sharesPort: values['permit-port-sharing'],
    strictTransportSecurity: values['strict-transport-security-directives'].join('; '),
    ...(chance > 0 ? { goAway: () => random() < chance } : {}),
  };
  return {
    options: { ...limits, listen },
    files: servingFiles(values),
    async load() {
      tls = await load();
      return tls;
    },
  };
}

/** A worker gets its part of the limits of the whole server. */
function limitOptions(
  values: ApiServerValues,
  memoryBytes: number | undefined,
  worker: ServingSetup['worker'],
): ApiServerOptions {
  const part = (limit: number) => worker?.partOf(limit) ?? limit;
  const responseMemoryBytes = memoryPart(values['response-memory-mb'], memoryBytes);
  return {
    maxRequestsInFlight: part(values['max-requests-inflight']),
    maxMutatingRequestsInFlight: part(values['max-mutating-requests-inflight']),
    priorityAndFairness:
      values['enable-priority-and-fairness'] &&
      new FeatureGates(values['feature-gates']).enabled('APIPriorityAndFairness'),
    requestTimeoutMs: values['request-timeout'],
    minRequestTimeoutMs: values['min-request-timeout'] * 1000,
    allowPrivileged: values['allow-privileged'],
    allowedOrigins: values['cors-allowed-origins'],
    hasDashboard: values.dashboard,
    settings: {
      deleteWorkers: values['delete-collection-workers'],
      collectsGarbage: values['enable-garbage-collector'],
      isUncached: watchCacheOptions(values).isUncached,
    },
    shutdownDelayMs: values['shutdown-delay-duration'],
    sendRetryAfter: values['shutdown-send-retry-after'],
    externalHost: values['external-hostname'] ?? '',
    eventTTLSeconds: Math.floor(values['event-ttl'] / 1000),
    ...(responseMemoryBytes === undefined ? {} : { responseMemoryBytes: part(responseMemoryBytes) }),
  };
}

const kibibyte = 1024;
const mebibyte = 1024 * 1024;

/** A worker has its part of the connections, and of what they hold. */
function capacityOf(
  values: ApiServerValues,
  memoryBytes: number | undefined,
  worker: ServingSetup['worker'],
): Partial<ServerCapacity> {
  const { 'max-connections': connections, 'max-open-requests': requests } = values;
  const all = {
    connections: countFor(connections, memoryBytes, { bytesEach: 256 * kibibyte, least: 4096, most: 65_536 }),
    requests: countFor(requests, memoryBytes, { bytesEach: 32 * kibibyte, least: 32_768, most: 524_288 }),
    bodyBytes: memoryPart(values['request-memory-mb'], memoryBytes),
  };
  const parts = Object.entries(all).flatMap(([name, count]) =>
    count === undefined ? [] : [[name, worker?.partOf(count) ?? count]],
  );
  return Object.fromEntries(parts);
}

interface CountRange {
  readonly bytesEach: number;
  readonly least: number;
  readonly most: number;
}

/** The option's value, or as many as fit into the process's memory; undefined where neither is set. */
function countFor(
  count: number,
  memoryBytes: number | undefined,
  { bytesEach, least, most }: CountRange,
): number | undefined {
  if (count > 0) return count;
  if (memoryBytes === undefined) return undefined;
  return Math.min(most, Math.max(least, Math.floor(memoryBytes / bytesEach)));
}

/** The option's value, or a sixteenth of the process's memory; undefined where neither is set. */
function memoryPart(megabytes: number, memoryBytes: number | undefined): number | undefined {
  if (megabytes > 0) return megabytes * mebibyte;
  if (memoryBytes === undefined) return undefined;
  return Math.min(512 * mebibyte, Math.max(64 * mebibyte, Math.floor(memoryBytes / 16)));
}

/** Reads the files, or the self-signed pair in `--cert-dir`, which it creates if necessary. Throws OptionsError. */
async function loadServing(
  values: ApiServerValues,
  clock: ServerEnvironment['clock'],
  { all: clientCA }: ServingSetup['authorities'],
): Promise<TLSMaterial> {
  const { pair, sni } = await loadServingCertificates({ values, name: 'apiserver', clock });
  const suites = values['tls-cipher-suites'];
  return {
    cert: pair.cert,
    key: pair.key,
    minVersion: values['tls-min-version'] === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ...(clientCA === undefined ? {} : { clientCA }),
    ...(sni.length === 0 ? {} : { pairFor: (greeting) => pairOf(sni, greeting) }),
    ...(suites.length === 0 ? {} : { ciphers: suites.map(opensslCipher).join(':') }),
  };
}
