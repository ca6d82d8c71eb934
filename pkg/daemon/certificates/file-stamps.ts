/** Whether files may have been replaced, without reading them. */
import { stat } from 'node:fs/promises';

/** Another text when one of the files was written, replaced or removed. Never rejects. */
export async function stampOf(files: readonly string[]): Promise<string> {
  const stamps = await Promise.all(files.map(stampOfOne));
  return stamps.join(' ');
}

async function stampOfOne(file: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(file);
    return `${ino}:${mtimeMs}:${size}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}
