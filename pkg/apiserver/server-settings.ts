/** From options of the command line to those of the server itself. */
import type { ApiServerOptions } from '#apiserver/apiserver.js';
import { loadServing, type ServingOptions } from '#apiserver/config/serving.js';
import type { ApiServerValues } from '#apiserver/options/options.js';

/** The address to listen on. Pure. */
function hostOf(values: ApiServerValues): string {
  return values['bind-address'] === '' ? '0.0.0.0' : values['bind-address'];
}

export interface ServerOptionsSetup extends ServingOptions {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Memory that the process may use. */
  readonly memoryBytes?: number;
  readonly listenOnAnyPort?: boolean;
}

/** Throws OptionsError for a certificate that cannot be read or made. */
export async function serverOptions({
  values,
  clock,
  authorities,
  random,
  memoryBytes,
  listenOnAnyPort = false,
}: ServerOptionsSetup): Promise<ApiServerOptions> {
  const common: ApiServerOptions = {
    maxRequestsInFlight: values['max-requests-inflight'],
    maxMutatingRequestsInFlight: values['max-mutating-requests-inflight'],
    requestTimeoutMs: values['request-timeout'],
    minRequestTimeoutMs: values['min-request-timeout'] * 1000,
    allowPrivileged: values['allow-privileged'],
    shutdownDelayMs: values['shutdown-delay-duration'],
    eventTTLSeconds: Math.floor(values['event-ttl'] / 1000),
    ...responseMemory(values['response-memory-mb'], memoryBytes),
  };
  if (values['secure-port'] === 0 && !listenOnAnyPort) return common;
  const host = hostOf(values);
  const tls = await loadServing({ values, clock, authorities });
  const chance = values['goaway-chance'];
  const listen = {
    host,
    port: listenOnAnyPort ? 0 : values['secure-port'],
    tls,
    maxConcurrentStreams: values['http2-max-streams-per-connection'],
    strictTransportSecurity: values['strict-transport-security-directives'].join('; '),
    ...(chance > 0 ? { goAway: () => random() < chance } : {}),
  };
  return { ...common, listen };
}

const mebibyte = 1024 * 1024;

/** What answers may hold: as the option says, or a part of all memory; nothing where neither is known. */
function responseMemory(
  megabytes: number,
  memoryBytes: number | undefined,
): Pick<ApiServerOptions, 'responseMemoryBytes'> {
  if (megabytes > 0) return { responseMemoryBytes: megabytes * mebibyte };
  if (memoryBytes === undefined) return {};
  return { responseMemoryBytes: Math.min(512 * mebibyte, Math.max(64 * mebibyte, Math.floor(memoryBytes / 16))) };
}
