/** Service rules as a table of nftables. */
import type { TableListing } from '#proxy/nft/listing.js';
import type { Nft } from '#proxy/nft/nft.js';
import { TableState } from '#proxy/nft/table-state.js';
import { endpointsMap, firstLocalSlot, portsOf } from '#proxy/services/chains.js';
import { servicesBaseTable } from '#proxy/services/nft-base-table.js';
import { families, type ProxySettings, protocols } from '#proxy/services/proxy-settings.js';
import type { Frontend, ServiceRoutes, ServiceTable } from '#proxy/services/routes.js';
import { affinityOf, frontendKey, planTable, slotsKey } from '#proxy/services/service-plan.js';

export class NftServices implements ServiceTable<TableListing, string> {
  readonly state: TableState;
  readonly #nft: Nft;
  readonly #settings: ProxySettings;
  /** Endpoint slots by service and frontend key. */
  readonly #slots = new Map<string, ReadonlyMap<string, readonly string[]>>();
  /** The kernel's slots at the start. */
  #kernelSlots: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>();

  constructor(nft: Nft, settings: ProxySettings) {
    this.#nft = nft;
    this.#settings = settings;
    this.state = new TableState(servicesBaseTable(settings));
  }

  adopt(listing: TableListing | undefined): void {
    if (listing !== undefined) this.#kernelSlots = slotsOf(listing);
  }

  adopted(): void {
    // All plans have their own slots now.
    this.#kernelSlots = new Map<string, readonly string[]>();
  }

  contribute(key: string, routes: ServiceRoutes | undefined): void {
    if (routes === undefined) {
      this.#slots.delete(key);
      this.state.contribute(key, undefined);
      return;
    }
    const old = this.#slots.get(key);
    const { contribution, slots } = planTable(routes, {
      settings: this.#settings,
      previousSlots: (id) => old?.get(id) ?? this.#kernelSlots.get(id) ?? [],
    });
    this.#slots.set(key, slots);
    this.state.contribute(key, contribution);
  }

  ledTo(frontend: Frontend): readonly string[] | undefined {
    if (this.#kernelSlots.size === 0) return undefined;
    const by = frontend.address === undefined ? 'node-port' : 'address';
    const map = endpointsMap(by, frontend.family, frontend.protocol);
    const placed = (first: number) => this.#kernelSlots.get(slotsKey(map, frontendKey(frontend), first)) ?? [];
    return [...new Set([...placed(0), ...placed(firstLocalSlot)])];
  }

  async forgetClients(before: readonly Frontend[], after: readonly Frontend[]): Promise<void> {
    const { table } = this.#settings;
    const maps = new Map<string, Set<string>>();
    for (const frontend of after) {
      const affinity = affinityOf(frontend);
      if (affinity === undefined) continue;
      const all = maps.get(affinity) ?? new Set<string>();
      for (const target of frontend.targets) all.add(target);
      maps.set(affinity, all);
    }
    const had = new Map<string, string[]>();
    for (const frontend of before) {
      const affinity = affinityOf(frontend);
      if (affinity !== undefined) had.set(affinity, [...(had.get(affinity) ?? []), ...frontend.targets]);
    }
    for (const [map, targets] of maps) {
      if ((had.get(map) ?? []).every((target) => targets.has(target))) continue;
      const ports = await this.#nft.listMap(table, portsOf(map));
      const addresses = await this.#nft.listMap(table, map);
      const gone = [...addresses].filter(([client, address]) => !targets.has(`${address} . ${ports.get(client)}`));
      if (gone.length === 0) continue;
      const clients = gone.map(([client]) => client);
      const clientsWithPorts = clients.filter((client) => ports.has(client));
      const remove = (of: string, which: readonly string[]) =>
        which.length === 0 ? '' : `delete element inet ${table} ${of} { ${which.join(', ')} }\n`;
      await this.#nft.apply(remove(map, clients) + remove(portsOf(map), clientsWithPorts));
    }
  }
}

/** Endpoint slots in the kernel, by frontend key. */
function slotsOf({ sets }: TableListing): Map<string, string[]> {
  const slots = new Map<string, string[]>();
  for (const family of families) {
    const maps = protocols.flatMap((protocol) => [
      endpointsMap('address', family, protocol),
      endpointsMap('node-port', family, protocol),
    ]);
    for (const map of maps) {
      for (const [key, target] of sets.get(map) ?? []) {
        const end = key.lastIndexOf(' . ');
        const number = Number(key.slice(end + 3));
        const first = number >= firstLocalSlot ? firstLocalSlot : 0;
        const id = slotsKey(map, key.slice(0, end), first);
        const places = slots.get(id) ?? [];
        places[number - first] = target;
        slots.set(id, places);
      }
    }
  }
  return slots;
}
