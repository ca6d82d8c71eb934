/** Learns the API servers of a cluster from the endpoints of the API's own Service, which each server keeps. */
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import type { KnownServers } from '#cmd/orch/servers/known-servers.js';
import type { Logger } from '#daemon/log/logger.js';

export interface FollowServersOptions {
  readonly client: Client;
  readonly servers: Pick<KnownServers, 'learn' | 'all'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Until the signal aborts. */
export async function followServers(options: FollowServersOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, log, random, servers } = options;
  const { dialect } = client;
  const informers = new SharedInformerFactory({ client, clock, random, log });
  const seen = (slice: EndpointSlice) => {
    try {
      if (servers.learn(addressesOf(slice))) log.info({ servers: servers.all }, 'the cluster has these API servers');
    } catch (err) {
      // Known for now; what starts again later begins with those of before.
      log.warn({ err }, 'the API servers could not be written down');
    }
  };
  informers
    .informer(endpointslices, {
      namespace: dialect.namespaces.default,
      fieldSelector: `metadata.name=${dialect.apiServiceName}`,
    })
    .addHandler({ onAdd: seen, onUpdate: seen });
  await informers.start(signal);
}

/** `host:port` of each endpoint. Pure. */
export function addressesOf({ endpoints, ports }: EndpointSlice): string[] {
  const port = ports?.[0]?.port;
  if (port === undefined) return [];
  return endpoints.flatMap(({ addresses }) => addresses.map((address) => hostPort(address, port)));
}
