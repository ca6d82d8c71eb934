/** The devices of all plugins and their health, as the node's status reports them. */

import type { Device, DeviceSet } from '#nodeagent/devices/device.js';
import type { PluginEndpoint, PluginOptions } from '#nodeagent/devices/plugin-endpoint.js';
import type { Resources } from '#nodeagent/node/status.js';

/** A stopped endpoint: the resource was in the checkpoint, and its plugin has not come back. */
export interface StoppedEndpoint {
  /** Monotonic. */
  readonly stoppedMs: number;
}

export interface RegisteredEndpoint {
  readonly endpoint: PluginEndpoint | StoppedEndpoint;
  readonly options: PluginOptions;
}

/** Devices of a stopped plugin count as unhealthy for this time before the resource is dropped, as in 1.24. */
const graceMs = 300_000;
const none: DeviceSet = new Map();

export class DeviceInventory {
  readonly #endpoints = new Map<string, RegisteredEndpoint>();
  readonly #devices = new Map<string, DeviceSet>();
  /** IDs of healthy and unhealthy devices; empty lists of resources whose plugins have not reported. */
  readonly #healthy = new Map<string, ReadonlySet<string>>();
  readonly #unhealthy = new Map<string, ReadonlySet<string>>();

  /** The resources of plugins, stopped ones included. */
  get resources(): readonly string[] {
    return [...this.#healthy.keys()];
  }

  has(resource: string): boolean {
    return this.#healthy.has(resource);
  }

  endpoint(resource: string): RegisteredEndpoint | undefined {
    return this.#endpoints.get(resource);
  }

  get size(): number {
    return this.#endpoints.size;
  }

  /** The last plugin of a resource counts. */
  register(resource: string, endpoint: RegisteredEndpoint): void {
    this.#endpoints.set(resource, endpoint);
  }

  /** From the checkpoint: nothing can be allocated until the plugin comes back. */
  expect(resource: string, stoppedMs: number): void {
    this.#healthy.set(resource, new Set());
    this.#unhealthy.set(resource, new Set());
    this.#endpoints.set(resource, { endpoint: { stoppedMs }, options: { preStart: false, preferences: false } });
  }

  report(resource: string, devices: readonly Device[]): void {
    const all = new Map(devices.map((device) => [device.id, device]));
    const ids = (isHealthy: boolean) =>
      new Set([...all.values()].filter((device) => device.isHealthy === isHealthy).map(({ id }) => id));
    this.#devices.set(resource, all);
    this.#healthy.set(resource, ids(true));
    this.#unhealthy.set(resource, ids(false));
  }

  markUnhealthy(resource: string): void {
    const healthy = this.#healthy.get(resource) ?? [];
    if (this.#healthy.has(resource)) this.#healthy.set(resource, new Set());
    this.#unhealthy.set(resource, new Set([...(this.#unhealthy.get(resource) ?? []), ...healthy]));
  }

  devices(resource: string): DeviceSet {
    return this.#devices.get(resource) ?? none;
  }

  healthy(resource: string): ReadonlySet<string> {
    return this.#healthy.get(resource) ?? new Set();
  }

  /** Drops resources whose plugins have been gone for long; returns them. */
  expire(nowMs: number): string[] {
    const expired = [...new Set([...this.#healthy.keys(), ...this.#unhealthy.keys()])].filter((resource) => {
      const stoppedMs = this.#endpoints.get(resource)?.endpoint.stoppedMs;
      return stoppedMs !== undefined && nowMs - stoppedMs > graceMs;
    });
    for (const resource of expired)
      for (const map of [this.#endpoints, this.#devices, this.#healthy, this.#unhealthy]) map.delete(resource);
    return expired;
  }

  /** Numbers of devices by resource: all, and the healthy ones. */
  get amounts(): Resources {
    const count = (resource: string) => String(this.healthy(resource).size);
    const total = (resource: string) =>
      String(this.healthy(resource).size + (this.#unhealthy.get(resource)?.size ?? 0));
    return {
      capacity: Object.fromEntries([...this.#unhealthy.keys()].map((resource) => [resource, total(resource)])),
      allocatable: Object.fromEntries(this.resources.map((resource) => [resource, count(resource)])),
    };
  }
}
