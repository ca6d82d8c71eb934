/** Services and endpoints that names are made from, updated by informers. */
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import { endpointLabel, namedAddresses, type ServiceFacts, ServiceView } from '#dns/records/service-view.js';

/** A name of an address. */
export interface AddressOwner {
  readonly entry: ServiceEntry;
  /** Label of an endpoint; absent for the service's own address. */
  readonly label?: string;
}

/** Slices may repeat an endpoint. */
interface CountedOwner {
  readonly owner: AddressOwner;
  count: number;
}

function nameOf({ namespace, name }: ServiceEntry, label = ''): string {
  return `${label}.${name}.${namespace}`;
}

export class RecordTable {
  /** Namespace → name → entry, including entries with slices but no service yet. */
  readonly #namespaces = new Map<string, Map<string, ServiceEntry>>();
  /** By address, then by name: thousands of endpoints may have one address. */
  readonly #owners = new Map<string, Map<string, CountedOwner>>();
  readonly #serviceLabel: string;
  #changes = 0;

  /** `serviceLabel`: label of slices that names their service. */
  constructor(serviceLabel: string) {
    this.#serviceLabel = serviceLabel;
  }

  /** Number of changes so far. */
  get changes(): number {
    return this.#changes;
  }

  service(namespace: string, name: string): ServiceEntry | undefined {
    const entry = this.#namespaces.get(namespace)?.get(name);
    return entry?.service === undefined ? undefined : entry;
  }

  /** True if the namespace has a service, so that its name exists. */
  hasServices(namespace: string): boolean {
    for (const { service } of this.#namespaces.get(namespace)?.values() ?? []) if (service !== undefined) return true;
    return false;
  }

  /** Names of an address in RFC 5952 form, at most `limit`. */
  ownersOf(address: string, limit: number): readonly AddressOwner[] {
    const owners: AddressOwner[] = [];
    for (const { owner } of this.#owners.get(address)?.values() ?? []) {
      if (owners.length >= limit) break;
      owners.push(owner);
    }
    return owners;
  }

  setService(service: Service): void {
    const entry = this.#entry(service.metadata.namespace ?? '', service.metadata.name ?? '');
    this.#replace(entry, () => {
      entry.service = service;
    });
  }

  deleteService(service: Service): void {
    const entry = this.#entry(service.metadata.namespace ?? '', service.metadata.name ?? '');
    this.#replace(entry, () => {
      entry.service = undefined;
    });
    this.#forget(entry);
  }

  /** Replaces `old`, which may belong to another service. */
  setSlice(slice: EndpointSlice, old?: EndpointSlice): void {
    const entry = this.#entryOf(slice);
    if (old !== undefined && this.#entryOf(old) !== entry) this.deleteSlice(old);
    if (entry === undefined) return;
    const name = slice.metadata.name ?? '';
    this.#changes += 1;
    this.#disown(entry, entry.slices.get(name));
    entry.slices.set(name, slice);
    entry.changed();
    this.#own(entry, slice);
  }

  deleteSlice(slice: EndpointSlice): void {
    const entry = this.#entryOf(slice);
    const name = slice.metadata.name ?? '';
    if (entry === undefined) return;
    this.#changes += 1;
    this.#disown(entry, entry.slices.get(name));
    entry.slices.delete(name);
    entry.changed();
    this.#forget(entry);
  }

  #replace(entry: ServiceEntry, change: () => void): void {
    this.#changes += 1;
    for (const slice of entry.slices.values()) this.#disown(entry, slice);
    for (const address of entry.clusterIPs) this.#remove(address, entry, undefined);
    change();
    entry.changed();
    for (const address of entry.clusterIPs) this.#add(address, { entry });
    for (const slice of entry.slices.values()) this.#own(entry, slice);
  }

  /** Addresses of headless endpoints have names, too. */
  #own(entry: ServiceEntry, slice: EndpointSlice): void {
    if (!entry.isHeadless) return;
    for (const endpoint of namedAddresses(slice, entry.publishesNotReady))
      this.#add(endpoint.address, { entry, label: endpointLabel(endpoint) });
  }

  #disown(entry: ServiceEntry, slice: EndpointSlice | undefined): void {
    if (slice === undefined || !entry.isHeadless) return;
    for (const endpoint of namedAddresses(slice, entry.publishesNotReady))
      this.#remove(endpoint.address, entry, endpointLabel(endpoint));
  }

  #add(address: string, owner: AddressOwner): void {
    const key = canonicalAddress(address) ?? address;
    const owners = this.#owners.get(key) ?? new Map<string, CountedOwner>();
    this.#owners.set(key, owners);
    const name = nameOf(owner.entry, owner.label);
    const counted = owners.get(name);
    if (counted === undefined) owners.set(name, { owner, count: 1 });
    else counted.count += 1;
  }

  #remove(address: string, entry: ServiceEntry, label: string | undefined): void {
    const key = canonicalAddress(address) ?? address;
    const owners = this.#owners.get(key);
    const name = nameOf(entry, label);
    const counted = owners?.get(name);
    if (owners === undefined || counted === undefined) return;
    counted.count -= 1;
    if (counted.count === 0) owners.delete(name);
    if (owners.size === 0) this.#owners.delete(key);
  }

  #entryOf({ metadata }: EndpointSlice): ServiceEntry | undefined {
    const service = metadata.labels?.[this.#serviceLabel];
    return service === undefined || service === '' ? undefined : this.#entry(metadata.namespace ?? '', service);
  }

  #entry(namespace: string, name: string): ServiceEntry {
    let services = this.#namespaces.get(namespace);
    if (services === undefined) {
      services = new Map();
      this.#namespaces.set(namespace, services);
    }
    let entry = services.get(name);
    if (entry === undefined) {
      entry = new ServiceEntry(namespace, name);
      services.set(name, entry);
    }
    return entry;
  }

  #forget(entry: ServiceEntry): void {
    if (entry.service !== undefined || entry.slices.size > 0) return;
    const services = this.#namespaces.get(entry.namespace);
    services?.delete(entry.name);
    if (services?.size === 0) this.#namespaces.delete(entry.namespace);
  }
}

/** A service, its endpoints and their records. */
export class ServiceEntry implements ServiceFacts {
  readonly namespace: string;
  readonly name: string;
  /** Undefined if only slices exist. */
  service: Service | undefined;
  /** By name. */
  readonly slices = new Map<string, EndpointSlice>();
  #view: ServiceView | undefined;

  constructor(namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  get isHeadless(): boolean {
    const spec = this.service?.spec;
    return spec !== undefined && spec.type !== 'ExternalName' && spec.clusterIP === 'None';
  }

  get publishesNotReady(): boolean {
    return this.service?.spec.publishNotReadyAddresses === true;
  }

  /** Cluster addresses; empty before they are assigned. */
  get clusterIPs(): readonly string[] {
    const spec = this.service?.spec;
    if (spec === undefined || spec.type === 'ExternalName') return [];
    const { clusterIP = '', clusterIPs = [clusterIP] } = spec;
    return clusterIPs.filter((address) => address !== '' && address !== 'None');
  }

  /** Undefined unless the service is an alias. */
  get externalName(): string | undefined {
    const spec = this.service?.spec;
    return spec?.type === 'ExternalName' ? (spec.externalName ?? '') : undefined;
  }

  get ports(): readonly ServicePort[] {
    return this.service?.spec.ports ?? [];
  }

  /** Records are created again at the next query. */
  changed(): void {
    this.#view = undefined;
  }

  /** `domain`: labels of the cluster's domain. Domain and TTL are the same in all calls. */
  view(domain: readonly string[], ttl: number): ServiceView {
    this.#view ??= new ServiceView(this, { labels: [this.name, this.namespace, 'svc', ...domain], ttl });
    return this.#view;
  }
}
