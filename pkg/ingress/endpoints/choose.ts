/** Which endpoint gets a request: of two at random the one that has less to do. Pure. */
import type { Endpoint } from '#ingress/endpoints/endpoints.js';

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
