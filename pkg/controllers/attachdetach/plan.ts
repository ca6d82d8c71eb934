/** What is to be attached to a node and detached from it. The rules of release 1.24 (pkg/controller/volume/attachdetach). Pure. */
import type { AttachedVolume } from '#api/core/v1/types.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { AttachableVolume } from '#controllers/attachdetach/volumes.js';

/** How long a node may take to unmount a volume before it is taken from it. */
export const forceDetachMs = 360_000;

export interface NodeObservation {
  /** What the pods on the node need. */
  readonly wanted: readonly AttachableVolume[];
  /** Of this node. */
  readonly attachments: readonly VolumeAttachment[];
  /** Unique name of the attachment's volume; undefined for one that is not the controller's. */
  readonly uniqueNameOf: (attachment: VolumeAttachment) => string | undefined;
  /** Names of the other nodes to which a volume is attached, or about to be. */
  readonly elsewhere: (volume: AttachableVolume) => readonly string[];
  /** Unique names that the node says it uses. */
  readonly inUse: ReadonlySet<string>;
  /** Unique names that the node's status says are attached. */
  readonly reported: readonly AttachedVolume[];
  /** Milliseconds since the attachment was first found not to be needed. */
  readonly unneededForMs: (attachment: VolumeAttachment) => number;
}

export interface NodePlan {
  readonly attach: readonly AttachableVolume[];
  /** Attached elsewhere, and allowed on one node only. */
  readonly blocked: readonly AttachableVolume[];
  /** All that nobody needs, in use or not. */
  readonly unneeded: readonly VolumeAttachment[];
  readonly detach: readonly VolumeAttachment[];
  /** Of those, the ones that the node still uses. */
  readonly forced: readonly VolumeAttachment[];
  /** What the node's status is to say; undefined when it says so. Written before anything is detached. */
  readonly report?: readonly AttachedVolume[];
  /** When the next one may be taken from the node. */
  readonly requeueAfterMs?: number;
}

export function planNode(observed: NodeObservation): NodePlan {
  const { wanted, attachments, uniqueNameOf, elsewhere, inUse, unneededForMs } = observed;
  const wantedNames = new Set(wanted.map(({ uniqueName }) => uniqueName));
  const own = attachments.filter((attachment) => uniqueNameOf(attachment) !== undefined);
  const there = new Set(own.map((attachment) => uniqueNameOf(attachment)));
  const missing = wanted.filter(({ uniqueName }) => !there.has(uniqueName));
  const blocked = missing.filter((volume) => volume.exclusive && elsewhere(volume).length > 0);
  const unneeded = own.filter((attachment) => !wantedNames.has(uniqueNameOf(attachment) ?? ''));
  const detach: VolumeAttachment[] = [];
  const forced: VolumeAttachment[] = [];
  let requeueAfterMs = Number.POSITIVE_INFINITY;
  for (const attachment of unneeded) {
    if (attachment.metadata.deletionTimestamp !== undefined) continue;
    const leftMs = forceDetachMs - unneededForMs(attachment);
    const used = inUse.has(uniqueNameOf(attachment) ?? '');
    if (used && leftMs > 0) requeueAfterMs = Math.min(requeueAfterMs, leftMs);
    else detach.push(attachment);
    if (used && leftMs <= 0) forced.push(attachment);
  }
  const going = new Set([...detach, ...own.filter(isGoing)]);
  const attached = own
    .filter((attachment) => attachment.status?.attached === true && !going.has(attachment))
    .map((attachment) => uniqueNameOf(attachment) ?? '');
  return {
    attach: missing.filter((volume) => !blocked.includes(volume)),
    blocked,
    unneeded,
    detach,
    forced,
    ...reportOf(observed.reported, attached),
    ...(Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : {}),
  };
}

function isGoing({ metadata }: VolumeAttachment): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function reportOf(reported: readonly AttachedVolume[], attached: readonly string[]): Pick<NodePlan, 'report'> {
  const names = new Set(attached);
  if (names.size === reported.length && reported.every(({ name }) => names.has(name))) return {};
  return { report: [...names].sort().map((name) => ({ name, devicePath: '' })) };
}

/** Who has the volume that a pod waits for: `others` are the pods that use it on other nodes. */
export function multiAttachMessage(
  volume: string,
  namespace: string,
  others: readonly { readonly namespace: string; readonly name: string }[],
): string {
  const start = `Multi-Attach error for volume "${volume}" Volume is already`;
  if (others.length === 0) {
    return `${start} exclusively attached to one node and can't be attached to another`;
  }
  // Names of other namespaces are none of the pod's business.
  const near = others.filter((pod) => pod.namespace === namespace).map(({ name }) => name);
  const far = others.length - near.length;
  if (near.length === 0) return `${start} used by ${far} pod(s) in different namespaces`;
  const also = far > 0 ? ` and ${far} pod(s) in different namespaces` : '';
  return `${start} used by pod(s) ${near.join(', ')}${also}`;
}
