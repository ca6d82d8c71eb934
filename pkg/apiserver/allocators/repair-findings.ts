/** What Services hold, held against each other and against the ranges. Pure; words as in 1.24. */
import type { Service } from '#api/core/v1/types.gen.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { IpRange } from '#apiserver/allocators/ip-range.js';
import type { NodePortRange } from '#apiserver/allocators/node-ports.js';
import { heldIPs, heldPorts } from '#apiserver/allocators/service-fields.js';

/** A Service that somebody must look at. */
export interface RangeFinding {
  readonly service: Service;
  /** `ClusterIPAlreadyAllocated`. */
  readonly reason: string;
  readonly message: string;
}

/** What one range's Services hold. */
export interface HeldNumbers {
  /** Each with the first Service that holds it. */
  readonly holders: ReadonlyMap<number, Service>;
  /** Numbers that two Services hold, and such as the range does not have. */
  readonly findings: readonly RangeFinding[];
}

export interface NumberWords {
  readonly duplicate: (text: string | number) => Omit<RangeFinding, 'service'>;
  readonly outside: (text: string | number) => Omit<RangeFinding, 'service'>;
  readonly unrecorded: (text: string | number) => Omit<RangeFinding, 'service'>;
}

function examine<N extends string | number>(
  services: readonly Service[],
  heldBy: (service: Service) => readonly N[],
  offsetOf: (held: N) => number | undefined,
  words: NumberWords,
): HeldNumbers {
  const holders = new Map<number, Service>();
  const findings: RangeFinding[] = [];
  for (const service of services) {
    for (const held of heldBy(service)) {
      const offset = offsetOf(held);
      if (offset === undefined) findings.push({ service, ...words.outside(held) });
      else if (holders.has(offset)) findings.push({ service, ...words.duplicate(held) });
      else holders.set(offset, service);
    }
  }
  return { holders, findings };
}

export function addressWords(range: IpRange): NumberWords {
  const name = (ip: string | number) => `Cluster IP [${range.family}]:${ip}`;
  return {
    duplicate: (ip) => ({
      reason: 'ClusterIPAlreadyAllocated',
      message: `${name(ip)} was assigned to multiple services; please recreate service`,
    }),
    outside: (ip) => ({
      reason: 'ClusterIPOutOfRange',
      message: `${name(ip)} is not within the service CIDR ${range.cidr}; please recreate service`,
    }),
    unrecorded: (ip) => ({ reason: 'ClusterIPNotAllocated', message: `${name(ip)} is not allocated; repairing` }),
  };
}

export function portWords(range: NodePortRange): NumberWords {
  return {
    duplicate: (port) => ({
      reason: 'PortAlreadyAllocated',
      message: `Port ${port} was assigned to multiple services; please recreate service`,
    }),
    outside: (port) => ({
      reason: 'PortOutOfRange',
      message: `Port ${port} is not within the port range ${range.first}-${range.last}; please recreate service`,
    }),
    unrecorded: (port) => ({ reason: 'PortNotAllocated', message: `Port ${port} is not allocated; repairing` }),
  };
}

/** The addresses of the range's family. */
export function heldAddresses(services: readonly Service[], range: IpRange): HeldNumbers {
  const version = range.family === 'IPv4' ? 4 : 6;
  return examine(
    services,
    (service) => heldIPs(service).filter((ip) => ipFamily(ip) === version),
    (ip) => range.offsetOf(ip),
    addressWords(range),
  );
}

/** The node ports. One Service may use a port for several protocols. */
export function heldNodePorts(services: readonly Service[], range: NodePortRange): HeldNumbers {
  return examine(services, heldPorts, (port) => range.offsetOf(port), portWords(range));
}
