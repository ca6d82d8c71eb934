/** Log files that the runtime writes to disk. */
import { createWriteStream, type FSWatcher, watch } from 'node:fs';
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openRegularFile } from '#nodeagent/files/regular-file.js';
import { type LogFile, type LogFiles, temporarySuffix } from '#nodeagent/logs/log-files.js';

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

export class DiskLogFiles implements LogFiles {
  async open(path: string): Promise<LogFile | undefined> {
    const handle = await openRegularFile(path);
    if (handle === undefined) return undefined;
    const { ino, dev } = await handle.stat();
    return {
      identity: `${dev}:${ino}`,
      size: async () => (await handle.stat()).size,
      async read(offset, length) {
        const buffer = Buffer.allocUnsafe(length);
        const { bytesRead } = await handle.read(buffer, 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
      close: () => handle.close(),
    };
  }

  async sizeOf(path: string): Promise<number | undefined> {
    try {
      const stats = await lstat(path);
      return stats.isFile() ? stats.size : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  watch(path: string, onChange: () => void): () => void {
    let watcher: FSWatcher | undefined;
    try {
      // Watch the directory, since a rotated log is a new file of the same name.
      watcher = watch(dirname(path), { persistent: false }, () => onChange());
      watcher.on('error', () => onChange());
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    return () => watcher?.close();
  }

  async makeDirectory(path: string): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o755 });
  }

  async list(directory: string): Promise<string[]> {
    try {
      return await readdir(directory);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await rename(from, to);
  }

  async compress(path: string): Promise<void> {
    const source = await openRegularFile(path);
    if (source === undefined) return;
    const unfinished = `${path}${temporarySuffix}`;
    try {
      await rm(unfinished, { force: true });
      const target = createWriteStream(unfinished, { flags: 'wx', mode: 0o640 });
      await pipeline(source.createReadStream(), createGzip(), target);
    } finally {
      await source.close();
    }
    await rename(unfinished, `${path}.gz`);
    await rm(path, { force: true });
  }

  async remove(path: string): Promise<void> {
    await rm(path, { recursive: true, force: true });
  }
}
