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

/** A prefix by segments, so that a path is walked once, however deep it and the rules are. */
interface Segment {
  route: Route | undefined;
  readonly below: Map<string, Segment>;
}

/** Rules of a host, a wildcard, or all hosts. */
class HostRoutes {
  readonly #exact = new Map<string, Route>();
  readonly #prefixes = segment();
  /** Route for unmatched paths. */
  rest: Route | undefined;

  /** The first route of a path stays. */
  add(match: PathMatch, path: string, route: Route): boolean {
    if (match === 'Exact') {
      if (this.#exact.has(path)) return false;
      this.#exact.set(path, route);
      return true;
    }
    let at = this.#prefixes;
    for (const name of withoutSlash(path).split('/')) {
      const next = at.below.get(name) ?? segment();
      at.below.set(name, next);
      at = next;
    }
    if (at.route !== undefined) return false;
    at.route = route;
    return true;
  }

  /** The longest match; an exact one wins over an equal prefix. */
  find(path: string): Route | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    let at: Segment | undefined = this.#prefixes;
    let longest: Route | undefined;
    for (let start = 0; at !== undefined && at.below.size > 0 && start <= path.length; ) {
      const next = path.indexOf('/', start);
      const end = next < 0 ? path.length : next;
      at = at.below.get(path.slice(start, end));
      longest = at?.route ?? longest;
      start = end + 1;
    }
    return longest;
  }
}

function segment(): Segment {
  return { route: undefined, below: new Map() };
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
