/** The API servers of the cluster as a machine knows them: the current ones, and some former ones. */
import { readFileSync } from 'node:fs';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ServerList {
  /** `host:port`; an IPv6 address in brackets. */
  readonly current: readonly string[];
  /** The latest first. Tried when no current server answers, such as after all of them were replaced. */
  readonly former: readonly string[];
}

const maxFormer = 8;

/** The list after the cluster has published its servers. An empty publication changes nothing. Pure. */
export function withServers(list: ServerList, published: readonly string[]): ServerList {
  if (published.length === 0) return list;
  const current = [...new Set(published)].sort();
  const former = [...list.current, ...list.former].filter((server) => !current.includes(server));
  return { current, former: [...new Set(former)].slice(0, maxFormer) };
}

/** Keeps the list in a file, so that a restarted machine knows servers that were added since it joined. */
export class ServerRegister {
  readonly #file: string;
  readonly #initial: readonly string[];
  #list: ServerList;

  /**
   * @param initial The list where there is no readable file. These servers always stay the last ones to try: the name of a
   * load balancer is valid whatever happens to the servers behind it.
   */
  constructor(file: string, initial: readonly string[]) {
    this.#file = file;
    this.#initial = initial;
    this.#list = readList(file) ?? { current: initial, former: [] };
  }

  /** In the order in which they are tried. */
  get all(): readonly string[] {
    return [...new Set([...this.#list.current, ...this.#list.former, ...this.#initial])];
  }

  /** Stores the published servers; true when they have changed. Throws the file system's errors. */
  update(published: readonly string[]): boolean {
    const next = withServers(this.#list, published);
    if (next.current.join() === this.#list.current.join()) return false;
    this.#list = next;
    replaceFile(this.#file, `${JSON.stringify(next, null, 2)}\n`);
    return true;
  }
}

/** Undefined for a missing or damaged file. */
function readList(file: string): ServerList | undefined {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Partial<ServerList> | null;
    const texts = (list: unknown): list is string[] =>
      Array.isArray(list) && list.every((item) => typeof item === 'string');
    const { current, former } = value ?? {};
    return texts(current) && texts(former) && current.length > 0 ? { current, former } : undefined;
  } catch {
    // The initial servers remain.
    return undefined;
  }
}

export interface FollowServersOptions {
  readonly client: Client;
  readonly servers: Pick<ServerRegister, 'update' | 'all'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Updates the register from the endpoints of the API's own Service until the signal aborts. */
export async function followServers(options: FollowServersOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, log, random, servers } = options;
  const { dialect } = client;
  const informers = new SharedInformerFactory({ client, clock, random, log });
  const update = (slice: EndpointSlice) => {
    try {
      if (servers.update(addressesOf(slice))) log.info({ servers: servers.all }, 'API servers of the cluster changed');
    } catch (err) {
      // This process uses the new list; the next start reads the old one.
      log.warn({ err }, 'cannot write the list of API servers');
    }
  };
  informers
    .informer(endpointslices, {
      namespace: dialect.namespaces.default,
      fieldSelector: `metadata.name=${dialect.apiServiceName}`,
    })
    .addHandler({ onAdd: update, onUpdate: update });
  await informers.start(signal);
}

/** `host:port` of each endpoint. Pure. */
export function addressesOf({ endpoints, ports }: EndpointSlice): string[] {
  const port = ports?.[0]?.port;
  if (port === undefined) return [];
  return endpoints.flatMap(({ addresses }) => addresses.map((address) => hostPort(address, port)));
}
