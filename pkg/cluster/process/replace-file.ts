import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Replaces a file atomically: when the disk is full, the process is killed or the power fails, the old text stays. Throws
 * the file system's errors.
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
