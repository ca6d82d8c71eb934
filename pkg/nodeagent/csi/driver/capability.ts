/** Capabilities of drivers and volumes in CSI's terms. Pure. */
import type { Message } from '#nodeagent/grpc/channel.js';

/** An access mode of a persistent volume. */
export type AccessMode = string;

/** What the node service of a driver can do. */
export type NodeCapability =
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'VOLUME_CONDITION'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP';

/** How a file system is mounted. */
export interface MountCapability {
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  /** The pod's group; undefined unless the driver applies it. */
  readonly group?: number | undefined;
}

/** Capabilities in a response of NodeGetCapabilities; unknown ones are ignored. */
export function capabilitiesOf({ capabilities }: Message): ReadonlySet<NodeCapability> {
  const list = (capabilities ?? []) as readonly { readonly rpc?: { readonly type?: unknown } | null }[];
  return new Set(list.flatMap(({ rpc }) => (typeof rpc?.type === 'string' ? [rpc.type as NodeCapability] : [])));
}

/**
 * CSI's mode for a mode of the API. Drivers without the capability SINGLE_NODE_MULTI_WRITER know no difference between
 * one pod and one node.
 */
export function accessModeOf(mode: AccessMode, distinguishesWriters: boolean): string {
  switch (mode) {
    case 'ReadWriteOnce':
      return distinguishesWriters ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadWriteOncePod':
      return distinguishesWriters ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadOnlyMany':
      return 'MULTI_NODE_READER_ONLY';
    case 'ReadWriteMany':
      return 'MULTI_NODE_MULTI_WRITER';
    default:
      return 'UNKNOWN';
  }
}

/** The message VolumeCapability. */
export function volumeCapability(mode: string, access: MountCapability | 'block'): Message {
  const accessMode = { mode };
  if (access === 'block') return { accessMode, block: {} };
  const { fsType, mountFlags, group } = access;
  const volumeMountGroup = group === undefined ? '' : String(group);
  return { accessMode, mount: { fsType, mountFlags: [...mountFlags], volumeMountGroup } };
}
