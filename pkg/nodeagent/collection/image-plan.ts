/** Decides which images of a node are removed. Pure. Rules of release 1.24 (pkg/kubelet/images/image_gc_manager.go). */
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';

/** What is remembered of an image; times in ms of the wall clock. */
export interface ImageRecord {
  readonly id: string;
  /** When it was first seen; 0 for those that the agent had when it started. */
  readonly firstSeenMs: number;
  /** When it was last seen in use; 0 for never. */
  readonly lastUsedMs: number;
  readonly sizeBytes: number;
  readonly isPinned: boolean;
  /** A container, or a sandbox, has it. */
  readonly isUsed: boolean;
}

export interface ImagePolicy {
  /** Disk usage in percent at which removal begins; 100: never. */
  readonly highPercent: number;
  /** Disk usage in percent at which removal ends. */
  readonly lowPercent: number;
  /** Minimum age of an unused image, counted from when it was first seen. */
  readonly minAgeMs: number;
}

/** Bytes to free; 0 below the high threshold, undefined for a file system without capacity. */
export function bytesToFree({ highPercent, lowPercent }: ImagePolicy, filesystem: FilesystemState): number | undefined {
  const { capacityBytes } = filesystem;
  if (capacityBytes === 0) return undefined;
  const available = Math.min(filesystem.availableBytes, capacityBytes);
  const usedPercent = 100 - Math.floor((available * 100) / capacityBytes);
  if (usedPercent < highPercent) return 0;
  return Math.floor((capacityBytes * (100 - lowPercent)) / 100) - available;
}

/** The images that may be removed, those first that were used longest ago. Removal ends when enough is free. */
export function removableImages(images: readonly ImageRecord[], minAgeMs: number, nowMs: number): ImageRecord[] {
  return images
    .filter(({ isUsed, isPinned }) => !isUsed && !isPinned)
    .filter(({ lastUsedMs, firstSeenMs }) => lastUsedMs < nowMs && nowMs - firstSeenMs >= minAgeMs)
    .sort((a, b) => a.lastUsedMs - b.lastUsedMs || a.firstSeenMs - b.firstSeenMs);
}
