/** Addresses of services, pods and nodes of the cluster. */
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import type { Host } from '#test/e2e/hosts.js';
import type { HostCluster } from '#test/e2e/traffic/cluster.js';
import type { Protocol, Target } from '#test/e2e/traffic/protocol.js';
import type { Row } from '#test/e2e/traffic/table.js';

export const families = [4, 6] as const;
export type Family = (typeof families)[number];
export const protocols: readonly Protocol[] = ['TCP', 'UDP'];

/** Ports of services. */
export const portOf = { TCP: 80, UDP: 53 } as const;

export function addressOf(host: Host, family: Family): string {
  return family === 4 ? host.address : host.address6;
}

/** A table of both families and protocols. */
export function all(rows: (family: Family, protocol: Protocol) => Row[]): Row[] {
  return families.flatMap((family) => protocols.flatMap((protocol) => rows(family, protocol)));
}

const isOf = (family: Family) => (address: string) => address.includes(':') === (family === 6);

export class Addresses {
  readonly #cluster: HostCluster;
  readonly #pods: readonly Pod[];
  readonly #services: readonly Service[];

  constructor(
    cluster: HostCluster,
    observed: { readonly pods: readonly Pod[]; readonly services: readonly Service[] },
  ) {
    this.#cluster = cluster;
    this.#pods = observed.pods;
    this.#services = observed.services;
  }

  podIP(name: string, family: Family): string {
    const ips = this.#pods.find(({ metadata }) => metadata.name === name)?.status?.podIPs ?? [];
    return ips.map(({ ip = '' }) => ip).find(isOf(family)) ?? '';
  }

  pod(name: string, family: Family, protocol: Protocol, port: number): Target {
    return { protocol, port, address: this.podIP(name, family) };
  }

  service(name: string): Service {
    const service = this.#services.find(({ metadata }) => metadata.name === name);
    if (service === undefined) throw new Error(`there is no service ${name}`);
    return service;
  }

  cluster(name: string, family: Family, protocol: Protocol): Target {
    const address = this.service(name).spec.clusterIPs?.find(isOf(family)) ?? '';
    return { protocol, port: portOf[protocol], address };
  }

  /** The service's port at a node. */
  node(name: string, node: string, family: Family, protocol: Protocol): Target {
    const { ports = [] } = this.service(name).spec;
    const port = ports.find((each) => (each.protocol ?? 'TCP') === protocol)?.nodePort ?? 0;
    return { protocol, port, address: addressOf(this.#cluster.host(node), family) };
  }

  balancer(name: string, family: Family, protocol: Protocol): Target {
    const ingress = this.service(name).status?.loadBalancer?.ingress ?? [];
    const address = ingress.map(({ ip = '' }) => ip).find(isOf(family)) ?? '';
    return { protocol, port: portOf[protocol], address };
  }
}
