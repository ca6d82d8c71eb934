import { Duplex } from 'node:stream';

class Side extends Duplex {
  other: Side | undefined;
  #written: (() => void) | undefined;

  override _read(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.other?.receive(chunk, done);
  }

  override _final(done: () => void): void {
    this.other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this;
    if (other !== undefined && !other.destroyed && !other.readableEnded) setImmediate(() => other.push(null));
    done(error);
  }

  receive(chunk: Buffer, done: () => void): void {
    if (this.destroyed || this.push(chunk)) done();
    else this.#written = done;
  }
}

/** Two connected ends of an in-process byte stream. */
export function duplexPair(): [Duplex, Duplex] {
  const a = new Side();
  const b = new Side();
  a.other = b;
  b.other = a;
  return [a, b];
}
