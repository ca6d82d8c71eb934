/** Packs files and folders of this machine into a tar archive. */
import { createReadStream, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { blockSize, headerBlocks, padding } from '#cmd/orchctl/streams/tar/header.js';

/** The archive in pieces. @param name Name of the file or folder in the archive. */
export async function* pack(path: string, name: string): AsyncGenerator<Buffer> {
  yield* entries(path, name);
  // Two empty blocks end an archive.
  yield Buffer.alloc(2 * blockSize);
}

async function* entries(path: string, name: string): AsyncGenerator<Buffer> {
  const stat = lstatSync(path);
  const { mode } = stat;
  if (stat.isDirectory()) {
    const names = readdirSync(path).sort();
    if (names.length === 0) yield headerBlocks({ name: `${name}/`, size: 0, type: '5', linkName: '', mode });
    for (const each of names) yield* entries(join(path, each), `${name}/${each}`);
    return;
  }
  if (stat.isSymbolicLink()) {
    yield headerBlocks({ name, size: 0, type: '2', linkName: readlinkSync(path), mode });
    return;
  }
  if (!stat.isFile()) return;
  const { size } = stat;
  yield headerBlocks({ name, size, type: '0', linkName: '', mode });
  let sent = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    // A file that grows meanwhile must not shift the entries behind it.
    const part = chunk.subarray(0, size - sent);
    sent += part.length;
    if (part.length > 0) yield part;
    if (sent === size) break;
  }
  yield Buffer.alloc(size - sent + padding(size));
}
