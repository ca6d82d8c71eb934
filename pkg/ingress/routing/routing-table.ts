/** Which rule a request matches. Looking it up costs the same with ten rules and with ten thousand. Pure. */

/** A port of a service: what endpoints are found by. */
export interface ServicePort {
  /** `namespace/name`. */
  readonly service: string;
  /** Of the port; empty for the only one. */
  readonly portName: string;
}

export interface Route {
  /** `namespace/name` of the Ingress. */
  readonly ingress: string;
  /** Undefined: what it names is not there. */
  readonly backend: ServicePort | undefined;
  /** Clients are to come by HTTPS. */
  readonly isSecure: boolean;
}

/** As of the API: how the path of a rule is compared. */
export type PathMatch = 'Exact' | 'Prefix';

/** The rules of one host, of one wildcard, or of all hosts. */
class HostRoutes {
  readonly #exact = new Map<string, Route>();
  readonly #prefixes = new Map<string, Route>();
  /** Elements of the longest prefix. */
  #depth = 0;
  /** For what matches no path. */
  rest: Route | undefined;

  /** The first that is added stays. */
  add(match: PathMatch, path: string, route: Route): boolean {
    const key = match === 'Exact' ? path : withoutSlash(path);
    const routes = match === 'Exact' ? this.#exact : this.#prefixes;
    if (routes.has(key)) return false;
    routes.set(key, route);
    if (match === 'Prefix') this.#depth = Math.max(this.#depth, key.split('/').length - 1);
    return true;
  }

  /** The longest match; of equal ones the exact one. */
  find(path: string): Route | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined || this.#prefixes.size === 0) return exact;
    // Only as deep as there are rules: a client may send thousands of elements.
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
  /** By what follows the star: `.example.com`. */
  readonly #wildcards = new Map<string, HostRoutes>();
  readonly #everywhere = new HostRoutes();

  /**
   * @param host Lower case; `*.` stands for one label; empty for all.
   * @param path In the form of `comparablePath`.
   * @returns False where another rule has that place already.
   */
  add(host: string, match: PathMatch, path: string, route: Route): boolean {
    return this.#routesOf(host).add(match, path, route);
  }

  /** Where requests to the host go that match no rule at all. Of several the first stays. */
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
