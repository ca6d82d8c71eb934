/** A service with its endpoints, and the names and records that follow from them. */
import type { Service, ServicePort } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { type ServiceFacts, ServiceView } from '#dns/records/service-view.js';

export class ServiceEntry implements ServiceFacts {
  readonly namespace: string;
  readonly name: string;
  /** Undefined: there are slices only. */
  service: Service | undefined;
  /** By their names. */
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

  /** The service's own addresses; none while it has none yet. */
  get clusterIPs(): readonly string[] {
    const spec = this.service?.spec;
    if (spec === undefined || spec.type === 'ExternalName') return [];
    const { clusterIP = '', clusterIPs = [clusterIP] } = spec;
    return clusterIPs.filter((address) => address !== '' && address !== 'None');
  }

  /** Undefined for services that are no alias. */
  get externalName(): string | undefined {
    const spec = this.service?.spec;
    return spec?.type === 'ExternalName' ? (spec.externalName ?? '') : undefined;
  }

  get ports(): readonly ServicePort[] {
    return this.service?.spec.ports ?? [];
  }

  /** What was made from the endpoints is made anew when somebody asks. */
  changed(): void {
    this.#view = undefined;
  }

  /** `domain`: the labels of the cluster's. One server asks, with one domain and one TTL. */
  view(domain: readonly string[], ttl: number): ServiceView {
    this.#view ??= new ServiceView(this, { labels: [this.name, this.namespace, 'svc', ...domain], ttl });
    return this.#view;
  }
}
