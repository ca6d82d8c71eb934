/** Writes POSIX (ustar) archives in memory, as container layers and OCI archives need them. */

export type TarEntry =
  | { readonly type: 'file'; readonly path: string; readonly mode: number; readonly data: Buffer }
  | { readonly type: 'directory'; readonly path: string; readonly mode: number }
  | { readonly type: 'link'; readonly path: string; readonly target: string };

const blockBytes = 512;
const typeFlags = { file: '0', directory: '5', link: '2' } as const;

function header(entry: TarEntry): Buffer {
  const path = entry.type === 'directory' && !entry.path.endsWith('/') ? `${entry.path}/` : entry.path;
  if (Buffer.byteLength(path) > 100) throw new RangeError(`path "${path}" does not fit into a tar header`);
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, offset: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  block.write(path, 0);
  octal(entry.type === 'link' ? 0o777 : entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.type === 'file' ? entry.data.length : 0, 124, 12);
  // A fixed time, so that equal content has an equal digest.
  octal(0, 136, 12);
  block.write('        ', 148, 'latin1');
  block.write(typeFlags[entry.type], 156, 'latin1');
  if (entry.type === 'link') block.write(entry.target, 157);
  block.write('ustar\0' + '00', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** An archive of the entries in their order. Throws RangeError for paths over 100 bytes. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    parts.push(header(entry));
    if (entry.type !== 'file') continue;
    parts.push(entry.data);
    const rest = entry.data.length % blockBytes;
    if (rest !== 0) parts.push(Buffer.alloc(blockBytes - rest));
  }
  parts.push(Buffer.alloc(2 * blockBytes));
  return Buffer.concat(parts);
}
