import { renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Replaces a file of a cluster's own in one step: on a disk that is full, or when the process is killed, the old text stays
 * and nothing lies beside it. Throws the file system's errors.
 */
export function replaceFile(file: string, text: string): void {
  const fresh = `${file}.new`;
  try {
    writeFileSync(fresh, text, { mode: 0o600 });
    renameSync(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
