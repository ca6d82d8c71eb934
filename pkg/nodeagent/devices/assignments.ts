/** Which devices the containers of pods have, by pod UID, container and resource. */
import type { IsActive } from '#nodeagent/allocation/provider.js';
import { type DevicesByNode, idsOf } from '#nodeagent/devices/device.js';

export interface Assignment {
  readonly devices: DevicesByNode;
  /** The plugin's ContainerAllocateResponse, encoded. */
  readonly response: Buffer;
}

export interface AssignmentEntry extends Assignment {
  readonly podUID: string;
  readonly container: string;
  readonly resource: string;
}

type ByResource = Map<string, Assignment>;

export class Assignments {
  readonly #pods = new Map<string, Map<string, ByResource>>();

  has(podUID: string): boolean {
    return this.#pods.has(podUID);
  }

  /** By resource. */
  ofContainer(podUID: string, container: string): ReadonlyMap<string, Assignment> {
    return this.#pods.get(podUID)?.get(container) ?? new Map<string, Assignment>();
  }

  /** Undefined if the container has none of the resource. */
  devices(podUID: string, container: string, resource: string): ReadonlySet<string> | undefined {
    const assignment = this.ofContainer(podUID, container).get(resource);
    return assignment && idsOf(assignment.devices);
  }

  /** All of the resource that containers of the pod have. */
  ofPod(podUID: string, resource: string): ReadonlySet<string> {
    const containers = [...(this.#pods.get(podUID)?.keys() ?? [])];
    return new Set(containers.flatMap((container) => [...(this.devices(podUID, container, resource) ?? [])]));
  }

  /** All of the resource that any container has; undefined if none ever asked for it. */
  inUse(resource: string): ReadonlySet<string> | undefined {
    let all: Set<string> | undefined;
    for (const { resource: name, devices } of this.entries())
      if (name === resource) all = new Set([...(all ?? []), ...idsOf(devices)]);
    return all;
  }

  /** Devices in use by resource. */
  allInUse(): ReadonlyMap<string, ReadonlySet<string>> {
    const all = new Map<string, Set<string>>();
    for (const { resource, devices } of this.entries())
      all.set(resource, new Set([...(all.get(resource) ?? []), ...idsOf(devices)]));
    return all;
  }

  assign({ podUID, container, resource, devices, response }: AssignmentEntry): void {
    const containers = this.#pods.get(podUID) ?? new Map<string, ByResource>();
    const resources = containers.get(container) ?? new Map<string, Assignment>();
    this.#pods.set(podUID, containers.set(container, resources.set(resource, { devices, response })));
  }

  /** Removes pods without active containers; true if there were any. */
  retain(isActive: IsActive): boolean {
    let changed = false;
    for (const [podUID, containers] of this.#pods) {
      if ([...containers.keys()].some((container) => isActive(podUID, container))) continue;
      this.#pods.delete(podUID);
      changed = true;
    }
    return changed;
  }

  *entries(): Generator<AssignmentEntry> {
    for (const [podUID, containers] of this.#pods)
      for (const [container, resources] of containers)
        for (const [resource, assignment] of resources) yield { podUID, container, resource, ...assignment };
  }
}
