/** Finds the rule for a request, in time independent of the number of rules. Pure. */

/** A service port, the key for endpoints. */
export interface ServicePort {
  /** `namespace/name`. */
  readonly service: string;
  /** Name of the port; empty for an unnamed one. */
  readonly portName: string;
}

export interface Route {
  /** `namespace/name` of the Ingress. */
  readonly ingress: string;
  /** Undefined if the backend does not exist. */
  readonly backend: ServicePort | undefined;
  /** Clients must use HTTPS. */
  readonly isSecure: boolean;
}

/** Path type of a rule, as in the API. */
export type PathMatch = 'Exact' | 'Prefix';

/** Rules of a host, a wildcard, or all hosts. */
class HostRoutes {
  readonly #exact = new Map<string, Route>();
  readonly #prefixes = new Map<string, Route>();
  /** Number of segments of the longest prefix. */
  #depth = 0;
  /** Route for unmatched paths. */
  rest: Route | undefined;

  /** The first route of a path stays. */
  add(match: PathMatch, path: string, route: Route): boolean {
    const key = match === 'Exact' ? path : withoutSlash(path);
    const routes = match === 'Exact' ? this.#exact : this.#prefixes;
    if (routes.has(key)) return false;
    routes.set(key, route);
    if (match === 'Prefix') this.#depth = Math.max(this.#depth, key.split('/').length - 1);
    return true;
  }

  /** The longest match; an exact one wins over an equal prefix. */
  find(path: string): Route | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined || this.#prefixes.size === 0) return exact;
    // Limited to the depth of the rules, since a client may send thousands of segments.
    const ends: number[] = [0];
    for (let end = 0; ends.length <= this.#depth && end < path.length; ) {
      const next = path.indexOf('/', end + 1);
      end = next < 0 ? path.length : next;
      ends.push(end);
    }
    for (let i = ends.length - 1; i >= 0; i -= 1) {
      const route = this.#prefixes.get(path.slice(0, ends[i]));
      if (route !== undefined) return route;
    }
    return undefined;
  }
}

export class RoutingTable {
  readonly #hosts = new Map<string, HostRoutes>();
  /** By the suffix after the star: `.example.com`. */
  readonly #wildcards = new Map<string, HostRoutes>();
  readonly #everywhere = new HostRoutes();

  /**
   * @param host Lower case; `*.` stands for one label; empty for all hosts.
   * @param path In the form of `comparablePath`.
   * @returns False if another rule has this place.
   */
  add(host: string, match: PathMatch, path: string, route: Route): boolean {
    return this.#routesOf(host).add(match, path, route);
  }

  /** Sets the route for unmatched requests of the host; the first stays. */
  addRest(host: string, route: Route): void {
    this.#routesOf(host).rest ??= route;
  }

  /** @param host Lower case, without a port. */
  find(host: string, path: string): Route | undefined {
    const dot = host.indexOf('.');
    const levels = [
      this.#hosts.get(host),
      dot > 0 ? this.#wildcards.get(host.slice(dot)) : undefined,
      this.#everywhere,
    ].filter((level) => level !== undefined);
    for (const level of levels) {
      const route = level.find(path);
      if (route !== undefined) return route;
    }
    return levels.find(({ rest }) => rest !== undefined)?.rest;
  }

  #routesOf(host: string): HostRoutes {
    if (host === '') return this.#everywhere;
    const isWildcard = host.startsWith('*.');
    const hosts = isWildcard ? this.#wildcards : this.#hosts;
    const key = isWildcard ? host.slice(1) : host;
    const existing = hosts.get(key);
    if (existing !== undefined) return existing;
    const routes = new HostRoutes();
    hosts.set(key, routes);
    return routes;
  }
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
