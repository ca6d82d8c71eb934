/** Devices as the pod resources' service lists them. Pure. */
import { withoutNode } from '#nodeagent/devices/device.js';
import type { DeviceManager } from '#nodeagent/devices/device-manager.js';
import type { ResourceDevices } from '#nodeagent/pod-resources/listing.js';

type Nodes = readonly number[] | undefined;

/** What a container has, on the nodes of the time at which it got them. */
export function heldDevices({ assignments }: DeviceManager, podUID: string, container: string): ResourceDevices {
  const held = new Map<string, ReadonlyMap<string, Nodes>>();
  for (const [resource, { devices }] of assignments.ofContainer(podUID, container)) {
    const nodes = new Map<string, Nodes>();
    for (const [node, ids] of devices)
      for (const id of ids) nodes.set(id, node === withoutNode ? undefined : [...(nodes.get(id) ?? []), node]);
    if (devices.size > 0) held.set(resource, nodes);
  }
  return held;
}

/** All healthy devices, in use or not. */
export function allocatableDevices({ inventory }: DeviceManager): ResourceDevices {
  return new Map(
    inventory.resources.map((resource) => {
      const healthy = [...inventory.devices(resource).values()].filter(({ id }) => inventory.healthy(resource).has(id));
      return [resource, new Map(healthy.map(({ id, nodes }) => [id, nodes]))];
    }),
  );
}
