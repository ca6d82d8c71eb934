import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Replaces a file of a cluster's own in one step: on a disk that is full, or when the process is killed or the machine
 * loses its power, the old text stays and nothing lies beside it. Throws the file system's errors.
 */
export function replaceFile(file: string, text: string): void {
  const fresh = `${file}.new`;
  try {
    const descriptor = openSync(fresh, 'w', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
