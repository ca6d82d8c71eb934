/** Ready endpoints of routed services, read from slices on first use. */
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { Informer } from '#client/informer/informer.js';
import type { ServicePort } from '#ingress/routing/routing-table.js';

/** An endpoint of a service and its state. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** Requests in progress. */
  active: number;
  /** Other endpoints are preferred until then, after a failed connection; monotonic milliseconds. */
  restsUntil: number;
}

const serviceIndex = 'service';

/** Endpoints of a service, by port name. */
interface Read {
  readonly ports: Map<string, readonly Endpoint[]>;
  /** Endpoints before the last change of slices. */
  readonly before: ReadonlyMap<string, readonly Endpoint[]>;
}

export class Endpoints {
  readonly #slices: Informer<EndpointSlice>;
  readonly #serviceOf: (slice: EndpointSlice) => string;
  /** By service; only services with requests. */
  readonly #byService = new Map<string, Read>();

  /** @param serviceLabel Label of slices that names their service. */
  constructor(slices: Informer<EndpointSlice>, serviceLabel: string) {
    this.#slices = slices;
    this.#serviceOf = ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[serviceLabel] ?? ''}`;
    slices.addIndexers({ [serviceIndex]: (slice) => [this.#serviceOf(slice)] });
  }

  /** Follows the slices until the returned function is called. */
  follow(): () => void {
    const changed = (slice: EndpointSlice) => this.#forget(this.#serviceOf(slice));
    return this.#slices.addHandler({
      onAdd: changed,
      onUpdate(slice, old) {
        changed(old);
        changed(slice);
      },
      onDelete: changed,
    });
  }

  of({ service, portName }: ServicePort): readonly Endpoint[] {
    const read = this.#byService.get(service) ?? { ports: new Map(), before: new Map() };
    this.#byService.set(service, read);
    const cached = read.ports.get(portName);
    if (cached !== undefined) return cached;
    const ready = readyEndpoints(
      this.#slices.byIndex(serviceIndex, service),
      portName,
      read.before.get(portName) ?? [],
    );
    read.ports.set(portName, ready);
    return ready;
  }

  /** Drops services that are not routed any more. */
  retain(backends: readonly ServicePort[]): void {
    const services = new Set(backends.map(({ service }) => service));
    for (const service of this.#byService.keys()) if (!services.has(service)) this.#byService.delete(service);
  }

  #forget(service: string): void {
    const read = this.#byService.get(service);
    if (read === undefined) return;
    this.#byService.set(service, { ports: new Map(), before: new Map([...read.before, ...read.ports]) });
  }
}

/** Endpoints without duplicates. Known endpoints keep their state. Pure. */
export function readyEndpoints(
  slices: readonly EndpointSlice[],
  portName: string,
  before: readonly Endpoint[] = [],
): readonly Endpoint[] {
  const previous = new Map(before.map((endpoint) => [placeOf(endpoint), endpoint]));
  const byPlace = new Map<string, Endpoint>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType === 'FQDN') continue;
    const port = ports?.find((each) => (each.name ?? '') === portName && (each.protocol ?? 'TCP') === 'TCP')?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions } of endpoints ?? []) {
      const address = canonicalAddress(addresses[0] ?? '');
      if (address === undefined || conditions?.ready === false) continue;
      const place = placeOf({ address, port });
      if (!byPlace.has(place)) byPlace.set(place, previous.get(place) ?? { address, port, active: 0, restsUntil: 0 });
    }
  }
  return [...byPlace.values()];
}

/** `10.244.0.7:8080`, `[fd00::7]:8080`. */
export function placeOf({ address, port }: Pick<Endpoint, 'address' | 'port'>): string {
  return hostPort(address, port);
}

export interface Choice {
  /** Endpoints already tried for this request. */
  readonly tried: ReadonlySet<Endpoint>;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** Returns [0, 1). */
  readonly random: () => number;
}

/**
 * The less busy one of two random endpoints. Undefined if all were tried; endpoints that failed recently come last.
 * Pure.
 */
export function chooseEndpoint(endpoints: readonly Endpoint[], choice: Choice): Endpoint | undefined {
  const { now, random, tried } = choice;
  const isFit = (endpoint: Endpoint) => endpoint.restsUntil <= now && !tried.has(endpoint);
  const at = (index: number) => endpoints[index];
  const first = at(Math.floor(random() * endpoints.length));
  const second = at(Math.floor(random() * endpoints.length));
  // Usually all are usable, and the cost does not depend on their number.
  if (first !== undefined && second !== undefined && isFit(first) && isFit(second)) {
    return first.active <= second.active ? first : second;
  }
  const fit = endpoints.filter(isFit);
  const left = fit.length > 0 ? fit : endpoints.filter((endpoint) => !tried.has(endpoint));
  return left.length === 0 ? undefined : leastActive(left, Math.floor(random() * left.length));
}

/** An endpoint with the fewest requests, starting at `start`. */
function leastActive(endpoints: readonly Endpoint[], start: number): Endpoint | undefined {
  const turned = [...endpoints.slice(start), ...endpoints.slice(0, start)];
  return turned.reduce((best, each) => (each.active < best.active ? each : best));
}
