/** Allocates cluster IPs and node ports when Services are written, and frees them when Services are deleted. */

import { validateClusterIPs } from '#api/core/v1/service/cluster-ip-validation.js';
import type { Service } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Draft } from '#apimachinery/draft.js';
import { type FieldFailure, internalError, invalid } from '#apimachinery/errors/status.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import { invalidValue, Strings } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { resolveFamilies } from '#apiserver/allocators/ip-families.js';
import type { IpRange } from '#apiserver/allocators/ip-range.js';
import type { NodePortRange } from '#apiserver/allocators/node-port-range.js';
import { RangeFullError, type RangeRegistry } from '#apiserver/allocators/range-registry.js';
import {
  alignClusterIPs,
  dropFieldsOfOldType,
  headlessIP,
  heldIPs,
  heldPorts,
  isHeadless,
  keepAllocated,
  needsClusterIP,
  needsHealthCheckPort,
  needsNodePorts,
} from '#apiserver/allocators/service-fields.js';
import type { Undo, WriteHook } from '#apiserver/resources/write-hook.js';

/** A range of addresses with its registry. */
export interface IpAllocator {
  readonly range: IpRange;
  readonly registry: RangeRegistry;
}

export interface NodePortAllocator {
  readonly range: NodePortRange;
  readonly registry: RangeRegistry;
}

export interface ServiceAllocatorOptions {
  /** The cluster's one or two families, primary first. */
  readonly ips: readonly IpAllocator[];
  readonly nodePorts: NodePortAllocator;
}

const specPath = FieldPath.of('spec');
const clusterIPsPath = specPath.child('clusterIPs');

/** Numbers claimed by one write, to be freed if the write does not happen. */
class Claims {
  readonly ips: { readonly allocator: IpAllocator; readonly offset: number }[] = [];
  readonly ports: number[] = [];
}

export class ServiceAllocator implements WriteHook {
  readonly resources = [{ group: 'core', resource: 'services' }] as const;
  readonly #options: ServiceAllocatorOptions;

  constructor(options: ServiceAllocatorOptions) {
    this.#options = options;
  }

  beforeCreate(object: Draft<ApiObjectShape>, { dryRun }: { readonly dryRun: boolean }): Promise<Undo | undefined> {
    return this.allocate(object as Draft<Service>, undefined, dryRun);
  }

  beforeUpdate(
    object: Draft<ApiObjectShape>,
    old: ApiObjectShape,
    { dryRun }: { readonly dryRun: boolean },
  ): Promise<Undo | undefined> {
    return this.allocate(object as Draft<Service>, old as Service, dryRun);
  }

  async afterUpdate(object: ApiObjectShape, old: ApiObjectShape): Promise<void> {
    const service = object as Service;
    const [ips, ports] = [new Set(heldIPs(service)), new Set(heldPorts(service))];
    await this.#free(
      heldIPs(old as Service).filter((ip) => !ips.has(ip)),
      heldPorts(old as Service).filter((port) => !ports.has(port)),
    );
  }

  afterDelete(object: ApiObjectShape): Promise<void> {
    return this.release(object as Service);
  }

  /** Frees all numbers of the Service. */
  release(service: Service): Promise<void> {
    return this.#free(heldIPs(service), heldPorts(service));
  }

  /**
   * Completes the Service's families, cluster IPs and node ports. Returns the undo of its claims. Throws 422 for numbers that
   * are unavailable and 500 for a full range; then, and with `dryRun`, nothing stays claimed.
   */
  async allocate(service: Draft<Service>, old: Service | undefined, dryRun: boolean): Promise<Undo | undefined> {
    service.spec ??= {};
    const claims = new Claims();
    const undo = () => this.#undo(claims);
    try {
      alignClusterIPs(service, old);
      if (old !== undefined) {
        keepAllocated(service, old);
        dropFieldsOfOldType(service, old);
      }
      if (needsClusterIP(service)) this.#fail(service, validateClusterIPs(service, specPath));
      this.#fail(
        service,
        resolveFamilies(
          service,
          old,
          this.#options.ips.map(({ range }) => range.family),
        ),
      );
      await this.#clusterIPs(service, old, claims);
      await this.#nodePorts(service, old, claims);
    } catch (error) {
      await undo();
      throw error;
    }
    if (dryRun) await undo();
    return dryRun ? undefined : undo;
  }

  async #clusterIPs(service: Draft<Service>, old: Service | undefined, claims: Claims): Promise<void> {
    const { spec } = service;
    if (spec === undefined || !needsClusterIP(service)) return;
    if (isHeadless(service)) {
      spec.clusterIP = headlessIP;
      spec.clusterIPs = [headlessIP];
      return;
    }
    const held = new Set(old === undefined ? [] : heldIPs(old));
    const requested = spec.clusterIPs ?? [];
    const assigned: string[] = [];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      const ip = requested[i] ?? '';
      if (ip !== '' && held.has(ip)) assigned.push(ip);
      else assigned.push(await this.#claimIP(service, family, ip, claims));
    }
    spec.clusterIPs = assigned;
    if (assigned[0] !== undefined) spec.clusterIP = assigned[0];
  }

  async #claimIP(service: Service, family: string, ip: string, claims: Claims): Promise<string> {
    const allocator = this.#options.ips.find(({ range }) => range.family === family);
    if (allocator === undefined) throw internalError(new Error(`no range of family ${family}`));
    if (ip === '') {
      const offset = await allocateNext(allocator.registry);
      claims.ips.push({ allocator, offset });
      return allocator.range.at(offset);
    }
    const refuse = (why: string) => {
      const shown = new Strings(service.spec?.clusterIPs ?? []);
      return this.#fail(service, [invalidValue(clusterIPsPath, shown, `failed to allocate IP ${ip}: ${why}`)]);
    };
    const { cidr } = allocator.range;
    const offset = allocator.range.offsetOf(ip);
    if (offset === undefined) {
      const read = canonicalAddress(ip) ?? ip;
      return refuse(`the provided IP (${read}) is not in the valid range. The range of valid IPs is ${cidr}`);
    }
    if (!(await allocator.registry.take(offset))) return refuse('provided IP is already allocated');
    claims.ips.push({ allocator, offset });
    // The stored address keeps the client's spelling.
    return ip;
  }

  async #nodePorts(service: Draft<Service>, old: Service | undefined, claims: Claims): Promise<void> {
    const { spec } = service;
    if (spec === undefined) return;
    const held = new Set(old === undefined ? [] : heldPorts(old));
    if (needsNodePorts(service)) {
      /** Node port by service port: a port with two protocols gets one number. */
      const shared = new Map<number, number>();
      for (const [i, port] of (spec.ports ?? []).entries()) {
        const requested = port.nodePort ?? 0;
        if (requested !== 0 && !held.has(requested) && !claims.ports.includes(requested))
          await this.#claimPort(service, `spec.ports[${i}].nodePort`, requested, claims);
        else if (requested === 0)
          port.nodePort = shared.get(port.port) ?? (await this.#claimPort(service, '', 0, claims));
        shared.set(port.port, port.nodePort ?? 0);
      }
    }
    const health = spec.healthCheckNodePort ?? 0;
    if (needsHealthCheckPort(service) && !(health !== 0 && held.has(health)))
      spec.healthCheckNodePort = await this.#claimPort(service, 'spec.healthCheckNodePort', health, claims);
  }

  /** Claims that port, or any free one if `port` is 0. */
  async #claimPort(service: Service, field: string, port: number, claims: Claims): Promise<number> {
    const { range, registry } = this.#options.nodePorts;
    let claimed = port;
    if (port === 0) {
      claimed = range.at(await allocateNext(registry));
    } else {
      const refuse = (why: string) =>
        this.#fail(service, [{ field, reason: 'FieldValueInvalid', message: `Invalid value: ${port}: ${why}` }]);
      const offset = range.offsetOf(port);
      if (offset === undefined)
        return refuse(
          `provided port is not in the valid range. The range of valid ports is ${range.first}-${range.last}`,
        );
      if (!(await registry.take(offset))) return refuse('provided port is already allocated');
    }
    claims.ports.push(claimed);
    return claimed;
  }

  #fail(service: Service, failures: FieldFailure[]): never;
  #fail(service: Service, failures: FieldFailure[]): void;
  #fail(service: Service, failures: FieldFailure[]): void {
    const name = service.metadata.name ?? service.metadata.generateName ?? '';
    if (failures.length > 0) throw invalid({ group: '', kind: 'Service' }, name, failures);
  }

  async #undo(claims: Claims): Promise<void> {
    for (const { allocator, offset } of claims.ips.splice(0)) await allocator.registry.free([offset]);
    await this.#free([], claims.ports.splice(0));
  }

  async #free(ips: readonly string[], ports: readonly number[]): Promise<void> {
    const defined = (offsets: (number | undefined)[]) => offsets.filter((offset) => offset !== undefined);
    for (const { range, registry } of this.#options.ips) {
      const offsets = defined(ips.map((ip) => range.offsetOf(ip)));
      if (offsets.length > 0) await registry.free(offsets);
    }
    const { range, registry } = this.#options.nodePorts;
    const offsets = defined(ports.map((port) => range.offsetOf(port)));
    if (offsets.length > 0) await registry.free(offsets);
  }
}

async function allocateNext(registry: RangeRegistry): Promise<number> {
  try {
    return await registry.takeNext();
  } catch (error) {
    if (error instanceof RangeFullError)
      throw internalError(new Error(`failed to allocate: ${error.message}`, { cause: error }));
    throw error;
  }
}
