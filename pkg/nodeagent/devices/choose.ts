/** Chooses devices for a container in 1.24's order of preference (devicemanager devicesToAllocate). Pure. */
import { hasNode, type NumaMask } from '#nodeagent/allocation/topology/numa-mask.js';
import { type DeviceSet, hasTopology } from '#nodeagent/devices/device.js';

export interface DeviceRequest {
  /** More than zero. */
  readonly count: number;
  /** All devices of the resource. */
  readonly devices: DeviceSet;
  /** Healthy devices that no container has. */
  readonly free: ReadonlySet<string>;
  /** Devices that init containers of the pod had. */
  readonly reusable: ReadonlySet<string>;
  /** Nodes that the container's resources are aligned to; undefined: any. */
  readonly affinity?: NumaMask | undefined;
}

/** The plugin may prefer some of `available`; `chosen` are among them, and `count` are to be returned. */
export interface Preference {
  readonly available: readonly string[];
  readonly chosen: readonly string[];
  readonly count: number;
}

export type Choice =
  | { readonly type: 'chosen'; readonly ids: readonly string[] }
  | { readonly type: 'unavailable'; readonly requested: number; readonly available: number }
  /** The plugin's answer, possibly empty, completes the choice. */
  | {
      readonly type: 'open';
      readonly preference: Preference;
      complete(preferred: ReadonlySet<string>): readonly string[];
    };

/** Takes IDs in ascending order, so that the choice is reproducible. */
export function chooseDevices({ count, devices, free, reusable, affinity }: DeviceRequest): Choice {
  const chosen = new Set<string>();
  const take = (ids: Iterable<string>) => {
    for (const id of [...ids].sort()) if (chosen.size < count) chosen.add(id);
  };
  take(reusable);
  if (chosen.size === count) return { type: 'chosen', ids: [...chosen] };
  const needed = count - chosen.size;
  if (free.size < needed) return { type: 'unavailable', requested: needed, available: free.size };
  const { aligned, rest } = byAlignment(free, devices, affinity);
  // If the aligned devices do not suffice, take all of them first.
  const suffices = needed < aligned.length;
  if (!suffices) take(aligned);
  if (chosen.size === count) return { type: 'chosen', ids: [...chosen] };
  const choices = suffices ? aligned : [...free];
  return {
    type: 'open',
    preference: { available: [...new Set([...choices, ...chosen])].sort(), chosen: [...chosen].sort(), count },
    complete(preferred) {
      take(choices.filter((id) => preferred.has(id)));
      if (suffices) take(aligned);
      for (const group of rest) take(group);
      return [...chosen];
    },
  };
}

interface Alignment {
  readonly aligned: readonly string[];
  /** Devices of other nodes, then those without a node. */
  readonly rest: readonly (readonly string[])[];
}

function byAlignment(free: ReadonlySet<string>, devices: DeviceSet, affinity: NumaMask | undefined): Alignment {
  if (affinity === undefined || !hasTopology(devices)) return { aligned: [], rest: [[...free]] };
  const nodesOf = (id: string) => devices.get(id)?.nodes ?? [];
  const isAligned = (id: string) => nodesOf(id).some((node) => hasNode(affinity, node));
  const others = [...free].filter((id) => !isAligned(id));
  return {
    aligned: [...free].filter(isAligned),
    rest: [others.filter((id) => nodesOf(id).length > 0), others.filter((id) => nodesOf(id).length === 0)],
  };
}
