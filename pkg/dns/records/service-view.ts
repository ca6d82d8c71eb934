/** Encoded records of a service and its endpoints, created at the first query after a change. */
import type { ServicePort } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { recordType } from '#dns/message/numbers.js';
import { addressRecords, joined, noRecords, type RecordSet, record } from '#dns/message/records.js';

/** The service data that records are made from. */
export interface ServiceFacts {
  readonly isHeadless: boolean;
  readonly publishesNotReady: boolean;
  readonly clusterIPs: readonly string[];
  readonly ports: readonly ServicePort[];
  readonly slices: ReadonlyMap<string, EndpointSlice>;
}

export interface PortRecords {
  readonly answers: RecordSet;
  /** Addresses of the targets. */
  readonly additional: RecordSet;
}

/** Target of an SRV record. */
interface Target {
  readonly labels: readonly string[];
  readonly port: number;
}

interface NamedPort {
  /** Empty for an unnamed port. */
  readonly name: string;
  readonly protocol: string;
}

type Ports = Map<string, { readonly port: NamedPort; readonly targets: Target[] }>;

export interface ViewNames {
  /** Labels of the service's full name. */
  readonly labels: readonly string[];
  readonly ttl: number;
}

const weight = 100;

export class ServiceView {
  readonly #service: ServiceFacts;
  readonly #names: ViewNames;
  /** For headless services: addresses by endpoint label. */
  readonly #endpoints = new Map<string, Set<string>>();
  readonly #addresses: ReadonlySet<string>;
  readonly #sets = new Map<string, RecordSet>();
  #ports: Ports | undefined;

  constructor(service: ServiceFacts, names: ViewNames) {
    this.#service = service;
    this.#names = names;
    if (!service.isHeadless) {
      this.#addresses = new Set(service.clusterIPs);
      return;
    }
    const all = new Set<string>();
    for (const slice of service.slices.values()) {
      for (const endpoint of namedAddresses(slice, service.publishesNotReady)) {
        all.add(endpoint.address);
        const label = endpointLabel(endpoint);
        const addresses = this.#endpoints.get(label);
        if (addresses === undefined) this.#endpoints.set(label, new Set([endpoint.address]));
        else addresses.add(endpoint.address);
      }
    }
    this.#addresses = all;
  }

  /** False for a headless service without ready endpoints, which has no name. */
  get exists(): boolean {
    return !this.#service.isHeadless || this.#addresses.size > 0;
  }

  /** A or AAAA records. */
  addresses(type: number): RecordSet {
    return this.#cached(`${type}`, () => addressRecords('question', this.#addresses, { type, ttl: this.#names.ttl }));
  }

  /** Records of an endpoint; undefined for an unknown label. */
  endpoint(label: string, type: number): RecordSet | undefined {
    const addresses = this.#endpoints.get(label);
    return addresses && addressRecords('question', addresses, { type, ttl: this.#names.ttl });
  }

  /** Whether a named port has this protocol, such as `_tcp`. */
  hasProtocol(label: string): boolean {
    for (const { port } of this.#portMap().values()) if (port.name !== '' && label === `_${port.protocol}`) return true;
    return false;
  }

  /** SRV records of `_port._protocol`; undefined for an unknown port. */
  port(name: string, protocol: string): PortRecords | undefined {
    if (!name.startsWith('_') || name === '_' || !protocol.startsWith('_')) return undefined;
    const entry = this.#portMap().get(`${name.slice(1)}/${protocol.slice(1)}`);
    return entry && this.#portRecords(`${name}.${protocol}`, entry.targets);
  }

  /** SRV records of all ports, including unnamed ones. */
  allPorts(): PortRecords {
    const targets: Target[] = [];
    for (const port of this.#portMap().values()) {
      targets.push(...port.targets.slice(0, maxTargets - targets.length));
      if (targets.length >= maxTargets) break;
    }
    return this.#portRecords('*', targets);
  }

  #portRecords(key: string, targets: readonly Target[]): PortRecords {
    const { ttl } = this.#names;
    const answers = this.#cached(`srv ${key}`, () =>
      joined(
        targets.map(({ labels, port }) =>
          record('question', { type: 'SRV', ttl, data: { priority: 0, weight, port, target: labels.join('.') } }),
        ),
      ),
    );
    const additional = this.#cached(`targets ${key}`, () => {
      const named = new Map(targets.map(({ labels }) => [labels[0] ?? '', labels]));
      // More records would not fit into a UDP response.
      if (named.size > maxAdditional) return noRecords;
      return joined([...named].flatMap(([label, labels]) => this.#targetAddresses(label, labels)));
    });
    return { answers, additional };
  }

  #targetAddresses(label: string, labels: readonly string[]): RecordSet[] {
    const { ttl } = this.#names;
    const addresses = this.#service.isHeadless ? (this.#endpoints.get(label) ?? []) : this.#addresses;
    return [recordType.A, recordType.AAAA].map((type) => addressRecords(labels, addresses, { type, ttl }));
  }

  #portMap(): Ports {
    this.#ports ??= this.#service.isHeadless ? this.#endpointPorts() : this.#servicePorts();
    return this.#ports;
  }

  #servicePorts(): Ports {
    const ports: Ports = new Map();
    for (const { name = '', protocol = 'TCP', port } of this.#service.ports)
      addTarget(ports, { name, protocol }, { labels: this.#names.labels, port });
    return ports;
  }

  #endpointPorts(): Ports {
    const ports: Ports = new Map();
    const seen = new Set<string>();
    for (const slice of this.#service.slices.values()) {
      // One record for both families of a hostname.
      const labels = new Set<string>();
      for (const endpoint of namedAddresses(slice, this.#service.publishesNotReady))
        labels.add(endpointLabel(endpoint));
      for (const { name, protocol, port } of slice.ports ?? []) {
        if (port === undefined || port === null) continue;
        const named = { name: name ?? '', protocol: protocol ?? 'TCP' };
        for (const label of labels) {
          const id = `${label} ${named.name} ${named.protocol} ${port}`;
          if (seen.has(id)) continue;
          // A slice may have a hundred ports of a hundred thousand addresses.
          const target = { labels: [label, ...this.#names.labels], port };
          if (seen.size >= maxAllTargets || !addTarget(ports, named, target)) break;
          seen.add(id);
        }
      }
    }
    return ports;
  }

  #cached(key: string, make: () => RecordSet): RecordSet {
    const cached = this.#sets.get(key);
    if (cached !== undefined) return cached;
    const records = make();
    this.#sets.set(key, records);
    return records;
  }
}

const maxAdditional = 50;
/** SRV records of one answer: more do not fit into a message of 64 KiB, as each has at least 30 bytes. */
const maxTargets = 2200;
/** SRV records of all ports of a service. */
const maxAllTargets = 50_000;

/** False if the port has as many targets as an answer holds. */
function addTarget(ports: Ports, { name, protocol }: NamedPort, target: Target): boolean {
  const port = { name, protocol: protocol.toLowerCase() };
  const key = `${name}/${port.protocol}`;
  const entry = ports.get(key);
  if (entry === undefined) ports.set(key, { port, targets: [target] });
  else if (entry.targets.length < maxTargets) entry.targets.push(target);
  else return false;
  return true;
}

export interface NamedAddress {
  readonly address: string;
  readonly hostname?: string | undefined;
}

/** Addresses of ready endpoints, or of all. */
export function* namedAddresses(slice: EndpointSlice, isReadyOrNot: boolean): Generator<NamedAddress> {
  if (slice.addressType === 'FQDN') return;
  for (const { addresses, conditions, hostname } of slice.endpoints ?? []) {
    // Unset means unknown, which counts as ready.
    if (!isReadyOrNot && conditions?.ready === false) continue;
    for (const address of addresses) yield { address, hostname };
  }
}

/** An endpoint's label below its service: its hostname, or its address with dashes. */
export function endpointLabel({ address, hostname }: NamedAddress): string {
  return hostname === undefined || hostname === '' ? address.replaceAll(/[.:]/g, '-') : hostname;
}
