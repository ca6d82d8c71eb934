/** Lines on the standard output: the audit log `-`. */
import { createWriteStream, type WriteStream } from 'node:fs';
import type { LineWriter } from '#apiserver/audit/log-sink.js';

const standardOutput = 1;
/** Bytes that wait for whoever reads; what comes on top is lost. */
const maxWaitingBytes = 16 * 1024 * 1024;

export class StandardOutput implements LineWriter {
  readonly #stream: WriteStream = createWriteStream('', { fd: standardOutput, autoClose: false });

  append(lines: string): Promise<void> {
    if (this.#stream.writableLength > maxWaitingBytes) {
      return Promise.reject(new Error('nobody reads the standard output'));
    }
    return new Promise((resolve, reject) => {
      this.#stream.write(lines, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** It is not ours to close. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
