/** From a Service to the address of whoever answers for it, as 1.24 finds it (`apiserver/pkg/util/proxy/proxy.go`). */
import { endpoints, services } from '#api/core/v1/resources.gen.js';
import type { Endpoints, Service } from '#api/core/v1/types.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Address, ServicePlace } from '#apiserver/service-routing/address.js';

/** There is no such Service, or nobody behind it; in the words of 1.24. */
export class ServiceUnreachableError extends Error {
  override readonly name = 'ServiceUnreachableError';
}

export interface ServiceResolverOptions {
  readonly reader: Pick<ObjectReader, 'get'>;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** `--enable-aggregator-routing`: to an endpoint itself rather than to the cluster IP. */
  readonly toEndpoints: boolean;
}

export class ServiceResolver {
  readonly #options: ServiceResolverOptions;

  constructor(options: ServiceResolverOptions) {
    this.#options = options;
  }

  /** Throws a ServiceUnreachableError where nobody answers for the Service. */
  async resolve({ namespace, name, port }: ServicePlace): Promise<Address> {
    const { reader, random, toEndpoints } = this.#options;
    const service = await reader.get(services, namespace, name);
    if (service === undefined) throw unreachable(`service ${JSON.stringify(name)} not found`);
    if (!toEndpoints) return clusterAddress(service, port);
    return endpointAddress(service, await reader.get(endpoints, namespace, name), { port, random });
  }
}

/** The address of the Service itself. */
export function clusterAddress(service: Service, port: number): Address {
  const { type = 'ClusterIP', clusterIP = '', externalName = '' } = service.spec ?? {};
  if (type === 'ExternalName') return { host: externalName, port };
  if (!clustered.has(type)) throw unreachable(`unsupported service type ${JSON.stringify(type)}`);
  if (clusterIP === 'None') throw unreachable('cannot route to service with ClusterIP "None"');
  return { host: dialled(clusterIP), port: portOf(service, port).port };
}

/** One of the addresses behind the Service, at random. */
export function endpointAddress(
  service: Service,
  found: Endpoints | undefined,
  { port, random }: { readonly port: number; readonly random: () => number },
): Address {
  const { type = 'ClusterIP' } = service.spec ?? {};
  if (!clustered.has(type)) throw unreachable(`unsupported service type ${JSON.stringify(type)}`);
  const wanted = portOf(service, port).name ?? '';
  const subsets = found?.subsets ?? [];
  const first = Math.floor(random() * subsets.length);
  for (let i = 0; i < subsets.length; i++) {
    const { addresses = [], ports = [] } = subsets[(first + i) % subsets.length] ?? {};
    const open = ports.find(({ name = '' }) => name === wanted);
    const address = addresses[Math.floor(random() * addresses.length)];
    if (open !== undefined && address !== undefined) return { host: dialled(address.ip), port: open.port };
  }
  throw unreachable(`no endpoints available for service ${JSON.stringify(service.metadata?.name ?? '')}`);
}

/** Without leading zeros, which the resolver of the C library would read as octal numbers. */
const dialled = (address: string): string => canonicalAddress(address) ?? address;

const clustered: ReadonlySet<string> = new Set(['ClusterIP', 'NodePort', 'LoadBalancer']);

function portOf({ metadata, spec }: Service, port: number) {
  const found = spec?.ports?.find((each) => each.port === port);
  if (found !== undefined) return found;
  throw unreachable(`no service port ${port} found for service ${JSON.stringify(metadata?.name ?? '')}`);
}

function unreachable(message: string): ServiceUnreachableError {
  return new ServiceUnreachableError(message);
}
