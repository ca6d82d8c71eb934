/**
 * Snapshots as files: what `etcdctl snapshot save` writes, which etcd's own tools restore. Behind the database follows its
 * SHA-256, so that what is torn is told from what is whole.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const hashBytes = 32;
/** Databases are whole pages, of which any is a multiple of this. */
const sectorBytes = 512;
const pieceBytes = 1024 * 1024;

/** The file is not what a snapshot is. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/**
 * Writes the pieces into a new file (mode 600) and makes it last. Throws SnapshotError when the stream ended early, the file
 * system's errors, and those of the stream; the caller removes the file then.
 * @returns Bytes written.
 */
export async function writeSnapshot(file: string, pieces: AsyncIterable<Buffer>): Promise<number> {
  const handle = await open(file, 'wx', 0o600);
  try {
    const check = new SnapshotCheck();
    for await (const piece of pieces) {
      check.add(piece);
      await handle.write(piece);
    }
    check.end();
    await handle.sync();
    return check.length;
  } finally {
    await handle.close();
  }
}

/** Throws SnapshotError when the file is not whole, and the file system's errors. */
export async function verifySnapshot(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    const check = new SnapshotCheck();
    for await (const piece of handle.createReadStream({ highWaterMark: pieceBytes, autoClose: false })) {
      check.add(piece as Buffer);
    }
    check.end();
  } finally {
    await handle.close();
  }
}

/** Knows only at the end which bytes are the hash, so it stays that many behind. */
class SnapshotCheck {
  readonly #hash = createHash('sha256');
  #last: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    const known = this.#last.length === 0 ? piece : Buffer.concat([this.#last, piece]);
    const cut = Math.max(0, known.length - hashBytes);
    this.#hash.update(known.subarray(0, cut));
    this.#last = Buffer.from(known.subarray(cut));
  }

  end(): void {
    if (this.#length % sectorBytes !== hashBytes) {
      throw new SnapshotError(`the snapshot is torn: ${this.#length} bytes are no whole database with its hash`);
    }
    if (!this.#hash.digest().equals(this.#last)) throw new SnapshotError('the snapshot does not match its hash');
  }
}
