/** Plans the attachments of a node. Rules of release 1.24 (pkg/controller/volume/attachdetach). Pure. */
import type { AttachedVolume } from '#api/core/v1/types.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { AttachableVolume } from '#controllers/attachdetach/volumes.js';

/** The time that a node has to unmount a volume before it is detached by force. */
export const forceDetachMs = 360_000;

export interface NodeObservation {
  /** Volumes that the pods on the node need. */
  readonly desired: readonly AttachableVolume[];
  /** Attachments to the node. */
  readonly attachments: readonly VolumeAttachment[];
  /** The unique name of the attachment's volume; undefined for attachments of other clients. */
  readonly uniqueNameOf: (attachment: VolumeAttachment) => string | undefined;
  /** Names of other nodes with an attachment of the volume. */
  readonly elsewhere: (volume: AttachableVolume) => readonly string[];
  /** Unique names in `status.volumesInUse`. */
  readonly inUse: ReadonlySet<string>;
  /** The node is shut down for good, so that it uses nothing any more, whatever its status says. */
  readonly outOfService: boolean;
  /** `status.volumesAttached` of the node. */
  readonly reported: readonly AttachedVolume[];
  /** Milliseconds since the attachment became unneeded. */
  readonly unneededForMs: (attachment: VolumeAttachment) => number;
}

export interface NodePlan {
  readonly attach: readonly AttachableVolume[];
  /** Exclusive volumes that are attached to another node. */
  readonly blocked: readonly AttachableVolume[];
  /** Attachments that no pod needs, in use or not. */
  readonly unneeded: readonly VolumeAttachment[];
  readonly detach: readonly VolumeAttachment[];
  /** The part of `detach` that the node still uses. */
  readonly forced: readonly VolumeAttachment[];
  /** The new `status.volumesAttached`, to write before detaching; absent when unchanged. */
  readonly report?: readonly AttachedVolume[];
  /** When the next attachment can be detached by force. */
  readonly requeueAfterMs?: number;
}

export function planNode(observed: NodeObservation): NodePlan {
  const { desired, attachments, uniqueNameOf, elsewhere, inUse, outOfService, unneededForMs } = observed;
  const desiredNames = new Set(desired.map(({ uniqueName }) => uniqueName));
  const own = attachments.filter((attachment) => uniqueNameOf(attachment) !== undefined);
  const present = new Set(own.map((attachment) => uniqueNameOf(attachment)));
  const missing = desired.filter(({ uniqueName }) => !present.has(uniqueName));
  const blocked = missing.filter((volume) => volume.exclusive && elsewhere(volume).length > 0);
  const unneeded = own.filter((attachment) => !desiredNames.has(uniqueNameOf(attachment) ?? ''));
  const detach: VolumeAttachment[] = [];
  const forced: VolumeAttachment[] = [];
  let requeueAfterMs = Number.POSITIVE_INFINITY;
  for (const attachment of unneeded) {
    if (attachment.metadata.deletionTimestamp !== undefined) continue;
    const leftMs = forceDetachMs - unneededForMs(attachment);
    const used = inUse.has(uniqueNameOf(attachment) ?? '');
    const waits = used && leftMs > 0 && !outOfService;
    if (waits) requeueAfterMs = Math.min(requeueAfterMs, leftMs);
    else detach.push(attachment);
    if (used && !waits) forced.push(attachment);
  }
  const terminating = new Set([...detach, ...own.filter(isTerminating)]);
  const attached = own
    .filter((attachment) => attachment.status?.attached === true && !terminating.has(attachment))
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

function isTerminating({ metadata }: VolumeAttachment): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function reportOf(reported: readonly AttachedVolume[], attached: readonly string[]): Pick<NodePlan, 'report'> {
  const names = new Set(attached);
  if (names.size === reported.length && reported.every(({ name }) => names.has(name))) return {};
  return { report: [...names].sort().map((name) => ({ name, devicePath: '' })) };
}

/** The event message for a pod that waits for an exclusive volume. `others`: pods that use it on other nodes. */
export function multiAttachMessage(
  volume: string,
  namespace: string,
  others: readonly { readonly namespace: string; readonly name: string }[],
): string {
  const start = `Multi-Attach error for volume "${volume}" Volume is already`;
  if (others.length === 0) {
    return `${start} exclusively attached to one node and can't be attached to another`;
  }
  // Do not reveal names from other namespaces.
  const names = others.filter((pod) => pod.namespace === namespace).map(({ name }) => name);
  const hidden = others.length - names.length;
  if (names.length === 0) return `${start} used by ${hidden} pod(s) in different namespaces`;
  const also = hidden > 0 ? ` and ${hidden} pod(s) in different namespaces` : '';
  return `${start} used by pod(s) ${names.join(', ')}${also}`;
}
