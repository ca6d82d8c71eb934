/** A driver's answer to NodeGetInfo. Pure. */
import type { Message } from '#nodeagent/grpc/channel.js';

export interface NodeInfo {
  /** The driver's name for the node. */
  readonly nodeID: string;
  /** 0 or less: no limit. */
  readonly maxVolumes: number;
  /** Labels of the node that say from where volumes can be reached. */
  readonly topology: Readonly<Record<string, string>>;
}

/** Decodes the response. */
export function nodeInfoOf({ nodeId, maxVolumesPerNode, accessibleTopology }: Message): NodeInfo {
  const { segments } = (accessibleTopology ?? {}) as { readonly segments?: Readonly<Record<string, string>> };
  return { nodeID: String(nodeId ?? ''), maxVolumes: Number(maxVolumesPerNode ?? 0), topology: { ...segments } };
}
