/** Reads the first bytes of a connection and leaves the rest in it for whoever comes next. */
import type { Socket } from 'node:net';

/** Exactly `size` bytes. Rejects when the connection ends before. */
export async function readExactly(socket: Socket, size: number): Promise<Buffer> {
  return readUntil(socket, (bytes) => (bytes.length >= size ? size : undefined));
}

/**
 * What comes until `end` tells how many bytes of it belong together; bytes behind them are put back. Rejects when the
 * connection ends, or when `end` throws.
 */
export function readUntil(socket: Socket, end: (bytes: Buffer) => number | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const stop = () => {
      socket.off('readable', read);
      socket.off('error', failed);
      socket.off('end', ended);
      socket.off('close', ended);
    };
    const failed = (error: unknown) => {
      stop();
      reject(error);
    };
    const ended = () => failed(Object.assign(new Error('closed by the proxy'), { code: 'ECONNRESET' }));
    const read = () => {
      const chunk: unknown = socket.read();
      if (!Buffer.isBuffer(chunk)) return;
      bytes = Buffer.concat([bytes, chunk]);
      try {
        const size = end(bytes);
        if (size === undefined) return;
        stop();
        if (bytes.length > size) socket.unshift(bytes.subarray(size));
        resolve(bytes.subarray(0, size));
      } catch (error) {
        failed(error);
      }
    };
    socket.on('readable', read);
    socket.on('error', failed);
    socket.on('end', ended);
    socket.on('close', ended);
    read();
  });
}
