/** Limits the bytes per second that pass through a stream. */
import { Transform, type TransformCallback } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';

const secondMs = 1000;

/**
 * A stream that passes at most `bytesPerSecond` on, in parts of a tenth of that, so that a small limit does not pass a large part
 * at once. Bytes that wait are not read from the source.
 */
export function rateLimit(clock: Pick<Clock, 'monotonic' | 'setTimer'>, bytesPerSecond: number): Transform {
  const partBytes = Math.max(1, Math.floor(bytesPerSecond / 10));
  /** When the bytes that have passed are paid for. */
  let freeMs = clock.monotonic();
  let timer: { cancel(): void } | undefined;
  const pass = (stream: Transform, chunk: Buffer, done: TransformCallback): void => {
    const waitMs = freeMs - clock.monotonic();
    if (waitMs > 0) {
      timer = clock.setTimer(() => pass(stream, chunk, done), waitMs);
      return;
    }
    const part = chunk.subarray(0, partBytes);
    freeMs = clock.monotonic() + (part.length * secondMs) / bytesPerSecond;
    stream.push(part);
    if (part.length === chunk.length) done();
    else pass(stream, chunk.subarray(part.length), done);
  };
  return new Transform({
    readableHighWaterMark: partBytes,
    writableHighWaterMark: partBytes,
    transform(chunk: Buffer, _encoding, done) {
      pass(this, chunk, done);
    },
    destroy(error, done) {
      timer?.cancel();
      done(error);
    },
  });
}
