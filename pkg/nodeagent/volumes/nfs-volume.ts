/** Directories of NFS servers, mounted by the node's own mount(8) and its helper for nfs. */
import { mkdir, rmdir } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import type { NFSVolumeSource } from '#api/core/v1/types.gen.js';
import { runMount } from '#nodeagent/files/mount-command.js';
import { mountsOn } from '#nodeagent/files/mounts.js';

export interface NFSMount {
  readonly source: NFSVolumeSource;
  readonly readOnly: boolean;
  readonly options: readonly string[];
  readonly dir: string;
  /** A program that mounts in place of mount(8). */
  readonly mounter?: string;
  readonly signal: AbortSignal;
}

/** Mounts it at `dir`, unless something is mounted there. Throws as `runMount`. */
export async function mountNFS({ source, readOnly, options, dir, signal, mounter }: NFSMount): Promise<void> {
  if ((await mountsOn(dir)).length > 0) return;
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const server = isIPv6(source.server) ? `[${source.server}]` : source.server;
  const all = [...new Set([...options, ...(readOnly ? ['ro'] : [])])];
  try {
    const request = { type: 'nfs', source: `${server}:${source.path}`, target: dir, options: all };
    await runMount({ ...request, ...(mounter && { mounter }) }, signal);
  } catch (error) {
    // Nothing is to look like a volume that is there.
    await rmdir(dir);
    throw error;
  }
}
