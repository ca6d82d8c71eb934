/** Rules about the owner and the permissions of files. Pure. */
import type { FileFacts } from '#cluster/check/cis/facts.js';

/** The first file that others than its owner may use, or whose owner may execute it; undefined: none. */
export function openFile(files: readonly FileFacts[], allowed = 0o600): string | undefined {
  const open = files.find(({ mode }) => (mode & ~allowed) !== 0);
  return open && `${open.path} has the permissions ${open.mode.toString(8).padStart(3, '0')}`;
}

/** The first file that belongs to another user than that of the cluster's processes; undefined: none. */
export function foreignFile(files: readonly FileFacts[], user: number): string | undefined {
  const foreign = files.find(({ owner }) => owner !== user);
  return foreign && `${foreign.path} belongs to the user ${foreign.owner} instead of ${user}`;
}
