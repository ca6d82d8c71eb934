import type { Node } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';
import type { HostPort, PodInfo } from '#scheduler/framework/pod-info.js';
import { accumulate, emptyResources, type Resources, resourcesOf } from '#scheduler/framework/resources.js';

/**
 * A node and the sum of what its pods take, kept up to date one pod at a time.
 * Invariant: `requested`, `nonZero` and `ports` are the sums over `pods`.
 */
export class NodeInfo {
  readonly name: string;
  node: Node | undefined;
  allocatable: Resources = emptyResources();
  maxPods = 0;
  readonly pods = new Map<string, PodInfo>();
  readonly requested: Resources = emptyResources();
  readonly nonZero = { milliCpu: 0, memory: 0 };
  /** Controller UID → its pods here. */
  readonly #replicas = new Map<string, number>();
  /** `protocol/port` → IPs that use it. */
  readonly #ports = new Map<string, string[]>();

  constructor(name: string) {
    this.name = name;
  }

  setNode(node: Node | undefined): void {
    this.node = node;
    this.allocatable = resourcesOf(node?.status?.allocatable);
    this.maxPods = Number(value(node?.status?.allocatable?.['pods'] ?? '0'));
  }

  addPod(info: PodInfo): void {
    if (this.pods.has(info.uid)) this.removePod(info.uid);
    this.pods.set(info.uid, info);
    accumulate(this.requested, info.requests, 1);
    this.nonZero.milliCpu += info.nonZero.milliCpu;
    this.nonZero.memory += info.nonZero.memory;
    if (info.controller !== '') this.#replicas.set(info.controller, this.replicasOf(info.controller) + 1);
    for (const port of info.hostPorts) {
      const key = portKey(port);
      const ips = this.#ports.get(key);
      if (ips === undefined) this.#ports.set(key, [port.ip]);
      else ips.push(port.ip);
    }
  }

  removePod(uid: string): void {
    const info = this.pods.get(uid);
    if (info === undefined) return;
    this.pods.delete(uid);
    accumulate(this.requested, info.requests, -1);
    this.nonZero.milliCpu -= info.nonZero.milliCpu;
    this.nonZero.memory -= info.nonZero.memory;
    const replicas = this.replicasOf(info.controller) - 1;
    if (replicas > 0) this.#replicas.set(info.controller, replicas);
    else this.#replicas.delete(info.controller);
    for (const port of info.hostPorts) {
      const key = portKey(port);
      const ips = this.#ports.get(key);
      if (ips === undefined) continue;
      ips.splice(ips.indexOf(port.ip), 1);
      if (ips.length === 0) this.#ports.delete(key);
    }
  }

  /** How many pods of that controller count here. */
  replicasOf(controller: string): number {
    return this.#replicas.get(controller) ?? 0;
  }

  /** A port is taken when the same IP, or either side's wildcard, uses it. */
  portTaken(port: HostPort): boolean {
    const ips = this.#ports.get(portKey(port));
    if (ips === undefined) return false;
    return port.ip === '0.0.0.0' || ips.includes('0.0.0.0') || ips.includes(port.ip);
  }
}

function portKey(port: HostPort): string {
  return `${port.protocol}/${port.port}`;
}
