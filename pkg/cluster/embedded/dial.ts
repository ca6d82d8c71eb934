/** Connections inside of a simulated cluster: Service proxy and pod network in memory. */
import type { Duplex } from 'node:stream';
import { services } from '#api/core/v1/resources.gen.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { Client } from '#client/client.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { type Destination, pickEndpoint, serviceAt } from '#proxy/services/pick-endpoint.js';

export interface DialOptions {
  readonly client: Client;
  readonly runtimes: readonly SimulatedRuntime[];
  /** Returns [0, 1). */
  readonly random: () => number;
  /** Resolves a name to addresses. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
}

/** Rejects with ENOTFOUND for an unknown name, and with ECONNREFUSED where no pod listens. */
export async function dial(host: string, port: number, options: DialOptions): Promise<Duplex> {
  const { client, random, resolve, runtimes } = options;
  const own = canonicalAddress(host);
  const addresses = own === undefined ? await resolve(host) : [own];
  // Headless services have an address for each endpoint.
  const address = addresses[Math.floor(random() * addresses.length)];
  if (address === undefined) throw failure('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`);
  const to = await endpointOf({ address, port }, client, random);
  const at = canonicalAddress(to?.address ?? '');
  for (const runtime of runtimes) {
    const stream = to && at && runtime.connect(at, to.port);
    if (stream) return stream;
  }
  throw failure('ECONNREFUSED', `connect ECONNREFUSED ${address}:${port}`);
}

/** An endpoint of the Service with that address, or `to` if no Service has it; undefined if port or endpoints are missing. */
async function endpointOf(to: Destination, client: Client, random: () => number): Promise<Destination | undefined> {
  const { items } = await client.resource(services).list();
  const service = serviceAt(items, to.address);
  if (service === undefined) return to;
  const { name = '', namespace = '' } = service.metadata;
  const labelSelector = `${client.dialect.labels.serviceName}=${name}`;
  const { items: slices } = await client.resource(endpointslices).list({ namespace, labelSelector });
  return pickEndpoint(service, to, { slices, random });
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
