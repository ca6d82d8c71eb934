/** Gives Services their cluster IPs and node ports when they are written, and takes them back when they are gone. */

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
  dropForeignFields,
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

/** One range of addresses with the record of those taken. */
export interface IpAllocator {
  readonly range: IpRange;
  readonly registry: RangeRegistry;
}

export interface NodePortAllocator {
  readonly range: NodePortRange;
  readonly registry: RangeRegistry;
}

export interface ServiceAllocatorOptions {
  /** The cluster's families, the primary one first; one or two. */
  readonly ips: readonly IpAllocator[];
  readonly nodePorts: NodePortAllocator;
}

const specPath = FieldPath.of('spec');
const clusterIPsPath = specPath.child('clusterIPs');

/** What one write took, to be given back when the write does not happen. */
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

  /** Gives back all that the Service holds. */
  release(service: Service): Promise<void> {
    return this.#free(heldIPs(service), heldPorts(service));
  }

  /**
   * Completes the Service: families, cluster IPs, node ports. Returns what takes the claims back. Throws 422 for
   * numbers that cannot be had and 500 when a range is full; nothing stays claimed then, nor with `dryRun`.
   */
  async allocate(service: Draft<Service>, old: Service | undefined, dryRun: boolean): Promise<Undo | undefined> {
    service.spec ??= {};
    const claims = new Claims();
    const undo = () => this.#undo(claims);
    try {
      alignClusterIPs(service, old);
      if (old !== undefined) {
        keepAllocated(service, old);
        dropForeignFields(service, old);
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
    const wanted = spec.clusterIPs ?? [];
    const given: string[] = [];
    for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
      const ip = wanted[i] ?? '';
      if (ip !== '' && held.has(ip)) given.push(ip);
      else given.push(await this.#claimIP(service, family, ip, claims));
    }
    spec.clusterIPs = given;
    if (given[0] !== undefined) spec.clusterIP = given[0];
  }

  async #claimIP(service: Service, family: string, ip: string, claims: Claims): Promise<string> {
    const allocator = this.#options.ips.find(({ range }) => range.family === family);
    if (allocator === undefined) throw internalError(new Error(`no range of family ${family}`));
    if (ip === '') {
      const offset = await next(allocator.registry);
      claims.ips.push({ allocator, offset });
      return allocator.range.at(offset);
    }
    const refuse = (why: string) => {
      const given = new Strings(service.spec?.clusterIPs ?? []);
      return this.#fail(service, [invalidValue(clusterIPsPath, given, `failed to allocate IP ${ip}: ${why}`)]);
    };
    const { cidr } = allocator.range;
    const offset = allocator.range.offsetOf(ip);
    if (offset === undefined) {
      const read = canonicalAddress(ip) ?? ip;
      return refuse(`the provided IP (${read}) is not in the valid range. The range of valid IPs is ${cidr}`);
    }
    if (!(await allocator.registry.take(offset))) return refuse('provided IP is already allocated');
    claims.ips.push({ allocator, offset });
    // What is stored stays as it was written.
    return ip;
  }

  async #nodePorts(service: Draft<Service>, old: Service | undefined, claims: Claims): Promise<void> {
    const { spec } = service;
    if (spec === undefined) return;
    const held = new Set(old === undefined ? [] : heldPorts(old));
    if (needsNodePorts(service)) {
      /** Service port → node port: the same port over two protocols has one number. */
      const shared = new Map<number, number>();
      for (const [i, port] of (spec.ports ?? []).entries()) {
        const wanted = port.nodePort ?? 0;
        if (wanted !== 0 && !held.has(wanted) && !claims.ports.includes(wanted))
          await this.#claimPort(service, `spec.ports[${i}].nodePort`, wanted, claims);
        else if (wanted === 0) port.nodePort = shared.get(port.port) ?? (await this.#claimPort(service, '', 0, claims));
        shared.set(port.port, port.nodePort ?? 0);
      }
    }
    const health = spec.healthCheckNodePort ?? 0;
    if (needsHealthCheckPort(service) && !(health !== 0 && held.has(health)))
      spec.healthCheckNodePort = await this.#claimPort(service, 'spec.healthCheckNodePort', health, claims);
  }

  /** Takes that port, or any when `port` is 0. */
  async #claimPort(service: Service, field: string, port: number, claims: Claims): Promise<number> {
    const { range, registry } = this.#options.nodePorts;
    let claimed = port;
    if (port === 0) {
      claimed = range.at(await next(registry));
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

async function next(registry: RangeRegistry): Promise<number> {
  try {
    return await registry.takeNext();
  } catch (error) {
    if (error instanceof RangeFullError)
      throw internalError(new Error(`failed to allocate: ${error.message}`, { cause: error }));
    throw error;
  }
}
