/** The chains that a service contributes for a family. Pure. */

import { markText } from '#proxy/iptables/base-chains.js';
import {
  addressBucket,
  type Chain,
  type Contribution,
  chainNames,
  type Entry,
  shortHash,
} from '#proxy/iptables/chain.js';
import { type Endpoint, targetOf } from '#proxy/services/endpoints.js';
import type { Family, ProxySettings } from '#proxy/services/proxy-settings.js';
import type { Route, ServiceRoutes } from '#proxy/services/routes.js';

export interface ChainContext {
  readonly family: Family;
  readonly prefix: string;
  readonly settings: ProxySettings;
}

export function planChains({ routes }: ServiceRoutes, context: ChainContext): Contribution {
  const plan = new ChainBuilder(context);
  for (const route of routes) if (route.family === context.family) plan.add(route);
  return plan.done();
}

/** First letters of chain names, by kind. */
const kinds = {
  bucket: 'b',
  /** Handles packets of a service port, by `to`. */
  pass: 'p',
  /** Chooses an endpoint. */
  choice: 'c',
  endpoint: 'e',
  sources: 's',
} as const;

const nodePortsOfBucket = 64;

/** Endpoints of a service port: for its cluster addresses, for other addresses, and those of this node. */
type EndpointSet = 'internal' | 'all' | 'local';

class ChainBuilder {
  readonly #context: ChainContext;
  readonly #chains = new Map<string, Chain>();
  readonly #entries: Entry[] = [];

  constructor(context: ChainContext) {
    this.#context = context;
  }

  add(route: Route): void {
    const { cluster, hasAny, local, sources, to } = route;
    if (cluster.length + local.length > 0) {
      this.#enter('nat', route, `-j ${this.#pass(route)}`);
    }
    // Earlier rules lead internal clients to other endpoints.
    if ((to === 'local' ? local : cluster).length === 0) {
      const verdict = hasAny ? 'DROP' : refusal(route);
      this.#enter('filter', route, `-j ${verdict}`);
    }
    if (sources !== undefined) {
      const rules = [...sources.map((range) => `-s ${range} -j RETURN`), '-j DROP'];
      this.#enter('mangle', route, `-j ${this.#chain('mangle', 'sources', `${rules}`, rules)}`);
    }
  }

  done(): Contribution {
    return { chains: [...this.#chains.values()], entries: this.#entries };
  }

  /** The chain for the route's packets. */
  #pass(route: Route): string {
    const { cluster, local, portKey, to } = route;
    const { family, settings } = this.#context;
    // The internal traffic policy may restrict cluster addresses to fewer endpoints.
    if (to === 'cluster') return this.#passTo(route, to, 'internal');
    if (to === 'external') return this.#passTo(route, to, 'all');
    const cidr = settings.clusterCIDRs[family];
    const rules: string[] = [];
    if (cluster.length > 0) {
      // Clients in the cluster reach all endpoints: no load balancer has chosen this node for them.
      if (cidr !== undefined) rules.push(`-s ${cidr} -g ${this.#passTo(route, 'cluster', 'all')}`);
      rules.push(`-m addrtype --src-type LOCAL -g ${this.#passTo(route, 'external', 'all')}`);
    }
    if (local.length > 0) rules.push(`-j ${this.#choice(route, 'local', local)}`);
    return this.#chain('nat', 'pass', `${portKey} local`, rules);
  }

  #passTo(route: Route, to: 'cluster' | 'external', set: EndpointSet): string {
    const rules = [...sourceRules(to, this.#context), `-j ${this.#choice(route, set, route.cluster)}`];
    return this.#chain('nat', 'pass', `${route.portKey} ${to} ${set}`, rules);
  }

  #choice(route: Route, set: EndpointSet, endpoints: readonly Endpoint[]): string {
    const { affinitySeconds, portKey } = route;
    const chains = endpoints.map((endpoint) => ({ endpoint, leads: this.#leadTo(route, endpoint) }));
    const rules: string[] = [];
    if (affinitySeconds !== undefined) {
      for (const { endpoint, leads } of chains)
        rules.push(
          `-m recent --name ${this.#clientsOf(route, endpoint)} --rcheck --seconds ${affinitySeconds} --reap ${leads}`,
        );
    }
    for (const [place, { leads }] of chains.entries()) {
      const left = chains.length - place;
      rules.push(left === 1 ? leads : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} ${leads}`);
    }
    return this.#chain('nat', 'choice', `${portKey} ${set}`, rules);
  }

  /** The end of a rule that leads to an endpoint. */
  #leadTo(route: Route, endpoint: Endpoint): string {
    const { address, isLocal, port } = endpoint;
    const { affinitySeconds, family, portKey, protocol } = route;
    const transport = protocol.toLowerCase();
    const to = family === 'IPv4' ? `${address}:${port}` : `[${address}]:${port}`;
    const translate = `-p ${transport} -m ${transport}`;
    const dnat = `-j DNAT --to-destination ${to}`;
    if (!isLocal && affinitySeconds === undefined) return `${translate} ${dnat}`;
    const rules = [
      // A pod that reaches itself through the service needs masquerading, or it would not recognize the reply.
      ...(isLocal ? [`-s ${address} -j MARK --or-mark ${markText(this.#context.settings)}`] : []),
      affinitySeconds === undefined
        ? `${translate} ${dnat}`
        : `${translate} -m recent --name ${this.#clientsOf(route, endpoint)} --set ${dnat}`,
    ];
    return `-j ${this.#chain('nat', 'endpoint', `${portKey} ${targetOf(endpoint)}`, rules)}`;
  }

  /** Name of the kernel's client list of an endpoint. */
  #clientsOf({ portKey }: Route, endpoint: Endpoint): string {
    return this.#name('endpoint', `${portKey} ${targetOf(endpoint)}`);
  }

  #chain(table: Chain['table'], kind: keyof typeof kinds, id: string, rules: readonly string[]): string {
    const name = this.#name(kind, id);
    this.#chains.set(name, { table, name, rules });
    return name;
  }

  #name(kind: keyof typeof kinds, id: string): string {
    return `${this.#context.prefix}-${kinds[kind]}${shortHash(id)}`;
  }

  #enter(table: Chain['table'], route: Route, end: string): void {
    const { address, port, protocol } = route;
    const { prefix } = this.#context;
    const transport = protocol.toLowerCase();
    const lists = address === undefined ? portLists : addressLists;
    const list = lists[table];
    // Source ranges apply only to load balancer addresses.
    if (list === undefined) return;
    const { id, match } = address === undefined ? portBucket(transport, port) : servicesBucket(address);
    const at = `-p ${transport} -m ${transport} --dport ${port}`;
    this.#entries.push({
      list: `${prefix}-${chainNames[list]}`,
      bucket: this.#name('bucket', `${table} ${id}`),
      match,
      rule: `${address === undefined ? '' : `-d ${address} `}${at} ${end}`,
    });
  }
}

const addressLists: Readonly<Record<Chain['table'], keyof typeof chainNames>> = {
  mangle: 'sources',
  nat: 'services',
  filter: 'noEndpoints',
};

const portLists: Readonly<Partial<Record<Chain['table'], keyof typeof chainNames>>> = {
  nat: 'nodePorts',
  filter: 'noEndpointsAtPort',
};

/** The block of 256 addresses around one. */
function servicesBucket(address: string): { readonly id: string; readonly match: string } {
  const range = addressBucket(address, address.includes(':') ? 120 : 24);
  return { id: range, match: `-d ${range}` };
}

function portBucket(transport: string, port: number): { readonly id: string; readonly match: string } {
  const first = port - (port % nodePortsOfBucket);
  const range = `${first}:${first + nodePortsOfBucket - 1}`;
  return { id: `${transport} ${range}`, match: `-p ${transport} -m ${transport} --dport ${range}` };
}

function sourceRules(to: 'cluster' | 'external', { family, settings }: ChainContext): string[] {
  const mark = `-j MARK --or-mark ${markText(settings)}`;
  if (to === 'external') return [mark];
  const cidr = settings.clusterCIDRs[family];
  const refused =
    settings.isClusterIPInternal && cidr !== undefined ? [`! -s ${cidr} -m addrtype ! --src-type LOCAL -j RETURN`] : [];
  if (settings.masqueradeAll) return [...refused, mark];
  return cidr === undefined ? [] : [...refused, `! -s ${cidr} ${mark}`];
}

function refusal({ protocol }: Route): string {
  return protocol === 'TCP' ? 'REJECT --reject-with tcp-reset' : 'REJECT';
}
