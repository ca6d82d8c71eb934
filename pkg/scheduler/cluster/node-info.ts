import type { Node } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';
import type { HostPort, PodInfo } from '#scheduler/cluster/pod-info.js';
import { accumulate, emptyResources, type Resources, resourcesOf } from '#scheduler/cluster/resources.js';

type Labels = Readonly<Record<string, string>>;
const noLabels: Labels = {};
const noImages: ReadonlyMap<string, number> = new Map();

/**
 * A node and the sum of its pods' requests, updated one pod at a time.
 * Invariant: `requested`, `nonZero` and the ports are the sums over `pods`.
 */
export class NodeInfo {
  readonly name: string;
  /** Index of the node in columns; reused after the node is gone. */
  readonly slot: number;
  /** Unique number of the current state; changes with each change of the node or its pods. */
  generation = 0;
  node: Node | undefined;
  labels: Labels = noLabels;
  allocatable: Resources = emptyResources();
  maxPods = 0;
  /** Image name → size in bytes. */
  images: ReadonlyMap<string, number> = noImages;
  readonly pods = new Map<string, PodInfo>();
  readonly requested: Resources = emptyResources();
  readonly nonZero = { milliCpu: 0, memory: 0 };
  /** `protocol/port` → IPs that use the port. */
  readonly #ports = new Map<string, string[]>();

  constructor(name: string, slot: number) {
    this.name = name;
    this.slot = slot;
  }

  /** `newImages`: whether the node's images changed. */
  setNode(node: Node | undefined, newImages: boolean): void {
    this.node = node;
    if (newImages) this.images = imagesOf(node);
    this.labels = node?.metadata.labels ?? noLabels;
    this.allocatable = resourcesOf(node?.status?.allocatable);
    this.maxPods = Number(value(node?.status?.allocatable?.['pods'] ?? '0'));
  }

  addPod(info: PodInfo): void {
    if (this.pods.has(info.uid)) this.removePod(info.uid);
    this.pods.set(info.uid, info);
    accumulate(this.requested, info.requests, 1);
    this.nonZero.milliCpu += info.nonZero.milliCpu;
    this.nonZero.memory += info.nonZero.memory;
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
    for (const port of info.hostPorts) {
      const key = portKey(port);
      const ips = this.#ports.get(key);
      if (ips === undefined) continue;
      ips.splice(ips.indexOf(port.ip), 1);
      if (ips.length === 0) this.#ports.delete(key);
    }
  }

  /** Whether the port is in use by the same IP or by either side's wildcard. */
  isPortUsed(port: HostPort): boolean {
    const ips = this.#ports.get(portKey(port));
    if (ips === undefined) return false;
    return port.ip === '0.0.0.0' || ips.includes('0.0.0.0') || ips.includes(port.ip);
  }
}

function imagesOf(node: Node | undefined): ReadonlyMap<string, number> {
  const images = node?.status?.images ?? [];
  if (images.length === 0) return noImages;
  return new Map(images.flatMap(({ names = [], sizeBytes = 0 }) => names.map((name) => [name, Number(sizeBytes)])));
}

function portKey(port: HostPort): string {
  return `${port.protocol}/${port.port}`;
}
