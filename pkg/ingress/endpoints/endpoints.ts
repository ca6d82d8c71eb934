/** The ready endpoints of the services that are routed to, read from their slices when they are first asked for. */
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { Informer } from '#client/informer/informer.js';
import type { ServicePort } from '#ingress/routing/routing-table.js';

/** One place where a service answers, and how it does. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** Requests that it has right now. */
  active: number;
  /** It could not be connected with: until then others are tried first; milliseconds of the monotonic clock. */
  restsUntil: number;
}

const serviceIndex = 'service';

/** What was read of the slices of a service, by names of ports. */
interface Read {
  readonly ports: Map<string, readonly Endpoint[]>;
  /** What was read before they changed. */
  readonly before: ReadonlyMap<string, readonly Endpoint[]>;
}

export class Endpoints {
  readonly #slices: Informer<EndpointSlice>;
  readonly #serviceOf: (slice: EndpointSlice) => string;
  /** By service; only of those that requests came for. */
  readonly #byService = new Map<string, Read>();

  /** @param serviceLabel Of slices: the name of their service. */
  constructor(slices: Informer<EndpointSlice>, serviceLabel: string) {
    this.#slices = slices;
    this.#serviceOf = ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[serviceLabel] ?? ''}`;
    slices.addIndexers({ [serviceIndex]: (slice) => [this.#serviceOf(slice)] });
  }

  /** Follows the slices until the function that it returns is called. */
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

  /** Keeps what is needed alone. */
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

/** Each once. One that was there before stays what it was. Pure. */
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

/** Which endpoint gets a request: of two at random the one that has less to do. Pure. */

export interface Choice {
  /** Those that were tried for this request already. */
  readonly tried: ReadonlySet<Endpoint>;
  /** Milliseconds of the monotonic clock. */
  readonly now: number;
  /** Returns [0, 1). */
  readonly random: () => number;
}

/** Undefined when all were tried. Those that rest are tried when there is nobody else. */
export function chooseEndpoint(endpoints: readonly Endpoint[], choice: Choice): Endpoint | undefined {
  const { now, random, tried } = choice;
  const isFit = (endpoint: Endpoint) => endpoint.restsUntil <= now && !tried.has(endpoint);
  const at = (index: number) => endpoints[index];
  const first = at(Math.floor(random() * endpoints.length));
  const second = at(Math.floor(random() * endpoints.length));
  // Mostly all are fit, and then this costs the same for any number of them.
  if (first !== undefined && second !== undefined && isFit(first) && isFit(second)) {
    return first.active <= second.active ? first : second;
  }
  const fit = endpoints.filter(isFit);
  const left = fit.length > 0 ? fit : endpoints.filter((endpoint) => !tried.has(endpoint));
  return left.length === 0 ? undefined : leastActive(left, Math.floor(random() * left.length));
}

/** The first from there on among those with the fewest requests. */
function leastActive(endpoints: readonly Endpoint[], start: number): Endpoint | undefined {
  const turned = [...endpoints.slice(start), ...endpoints.slice(0, start)];
  return turned.reduce((best, each) => (each.active < best.active ? each : best));
}
