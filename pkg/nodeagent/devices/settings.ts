/** What the responses of plugins add to a container's configuration. Pure. */
import type { ContainerAllocation } from '#nodeagent/allocation/provider.js';
import type { Device, Mount } from '#nodeagent/cri/cri.js';
import type { Message } from '#nodeagent/grpc/channel.js';

/**
 * `responses`: ContainerAllocateResponses, decoded. Of equal names the first counts, as in 1.24; `onConflict` gets those
 * with different values.
 */
export function containerSettings(
  responses: Iterable<Message>,
  onConflict: (kind: string, name: string) => void,
): ContainerAllocation {
  const environment = new Map<string, string>();
  const annotations = new Map<string, string>();
  const devices = new Map<string, Device>();
  const mounts = new Map<string, Mount>();
  const add = <T>(
    kind: string,
    all: Map<string, T>,
    [name, entry]: readonly [string, T],
    text: (entry: T) => string,
  ) => {
    const first = all.get(name);
    if (first === undefined) all.set(name, entry);
    else if (text(first) !== text(entry)) onConflict(kind, name);
  };
  for (const response of responses) {
    for (const entry of texts(response['envs'])) add('environment variable', environment, entry, (text) => text);
    for (const entry of texts(response['annotations'])) add('annotation', annotations, entry, (text) => text);
    for (const message of list(response['devices'])) {
      const device = { ...mapping(message), permissions: String(message['permissions'] ?? '') };
      add('device', devices, [device.containerPath, device], ({ hostPath }) => hostPath);
    }
    for (const message of list(response['mounts'])) {
      const readonly = message['readOnly'] === true;
      const mount: Mount = { ...mapping(message), readonly, propagation: 'PROPAGATION_PRIVATE' };
      add('mount', mounts, [mount.containerPath, mount], ({ hostPath }) => hostPath);
    }
  }
  return {
    environment,
    annotations: Object.fromEntries(annotations),
    devices: [...devices.values()],
    mounts: [...mounts.values()],
  };
}

function mapping(message: Message): Pick<Device, 'containerPath' | 'hostPath'> {
  return { containerPath: String(message['containerPath'] ?? ''), hostPath: String(message['hostPath'] ?? '') };
}

function list(value: unknown): readonly Message[] {
  return (value ?? []) as readonly Message[];
}

function texts(value: unknown): [string, string][] {
  return Object.entries((value ?? {}) as Message).map(([name, text]) => [name, String(text)]);
}
