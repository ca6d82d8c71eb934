/** Resolves a Service to the address of a backend, as in 1.24 (`apiserver/pkg/util/proxy/proxy.go`). */
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Address, ServicePlace } from '#apiserver/service-routing/address.js';

/** The Service does not exist or has no endpoints; with the message of 1.24. */
export class ServiceUnreachableError extends Error {
  override readonly name = 'ServiceUnreachableError';
}

export interface ServiceResolverOptions {
  readonly reader: Pick<ObjectReader, 'get'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** `--enable-aggregator-routing`: resolve to an endpoint rather than to the cluster IP. */
  readonly toEndpoints: boolean;
}

export class ServiceResolver {
  readonly #options: ServiceResolverOptions;

  constructor(options: ServiceResolverOptions) {
    this.#options = options;
  }

  /** Throws a ServiceUnreachableError without a backend. */
  async resolve({ namespace, name, port }: ServicePlace): Promise<Address> {
    const { reader, random, toEndpoints } = this.#options;
    const service = await reader.get(services, namespace, name);
    if (service === undefined) throw unreachable(`service ${JSON.stringify(name)} not found`);
    if (!toEndpoints) return clusterAddress(service, port);
    return endpointAddress(service, await reader.get(endpoints, namespace, name), { port, random });
  }
}

/** The Service's own address. */
export function clusterAddress(service: Service, port: number): Address {
  const { type = 'ClusterIP', clusterIP = '', externalName = '' } = service.spec ?? {};
  if (type === 'ExternalName') return { host: externalName, port };
  if (!clustered.has(type)) throw unreachable(`unsupported service type ${JSON.stringify(type)}`);
  if (clusterIP === 'None') throw unreachable('cannot route to service with ClusterIP "None"');
  return { host: dialled(clusterIP), port: portOf(service, port).port };
}

/** A random endpoint of the Service. */
export function endpointAddress(
  service: Service,
  object: Endpoints | undefined,
  { port, random }: { readonly port: number; readonly random: () => number },
): Address {
  const { type = 'ClusterIP' } = service.spec ?? {};
  if (!clustered.has(type)) throw unreachable(`unsupported service type ${JSON.stringify(type)}`);
  const portName = portOf(service, port).name ?? '';
  const subsets = object?.subsets ?? [];
  const first = Math.floor(random() * subsets.length);
  for (let i = 0; i < subsets.length; i++) {
    const { addresses = [], ports = [] } = subsets[(first + i) % subsets.length] ?? {};
    const open = ports.find(({ name = '' }) => name === portName);
    const address = addresses[Math.floor(random() * addresses.length)];
    if (open !== undefined && address !== undefined) return { host: dialled(address.ip), port: open.port };
  }
  throw unreachable(`no endpoints available for service ${JSON.stringify(service.metadata?.name ?? '')}`);
}

/** Removes leading zeros, which the C library would read as octal numbers. */
const dialled = (address: string): string => canonicalAddress(address) ?? address;

const clustered: ReadonlySet<string> = new Set(['ClusterIP', 'NodePort', 'LoadBalancer']);

function portOf({ metadata, spec }: Service, port: number) {
  const match = spec?.ports?.find((each) => each.port === port);
  if (match !== undefined) return match;
  throw unreachable(`no service port ${port} found for service ${JSON.stringify(metadata?.name ?? '')}`);
}

function unreachable(message: string): ServiceUnreachableError {
  return new ServiceUnreachableError(message);
}
