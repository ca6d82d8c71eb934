/**
 * Snapshot files in the format of `etcdctl snapshot save`, which etcd's tools restore: the database, followed by its SHA-256,
 * which detects truncated files.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const hashBytes = 32;
/** The size of a database is a multiple of this. */
const sectorBytes = 512;
const pieceBytes = 1024 * 1024;

/** The file is no complete snapshot. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/**
 * Writes the pieces to a new file (mode 600) and syncs it. Rejects with a SnapshotError for a truncated stream, and with the
 * errors of file system and stream; the caller removes the file then.
 * @returns Written bytes.
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

/** Rejects with a SnapshotError for an incomplete file, and with the file system's errors. */
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

/** Verifies a stream. The last bytes are the hash, so it keeps that many back. */
class SnapshotCheck {
  readonly #hash = createHash('sha256');
  #last: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    const bytes = this.#last.length === 0 ? piece : Buffer.concat([this.#last, piece]);
    const cut = Math.max(0, bytes.length - hashBytes);
    this.#hash.update(bytes.subarray(0, cut));
    this.#last = Buffer.from(bytes.subarray(cut));
  }

  end(): void {
    if (this.#length % sectorBytes !== hashBytes) {
      throw new SnapshotError(
        `the snapshot is truncated: ${this.#length} bytes are no complete database with its hash`,
      );
    }
    if (!this.#hash.digest().equals(this.#last)) throw new SnapshotError('the snapshot does not match its hash');
  }
}
