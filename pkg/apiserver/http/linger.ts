import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';

export interface LingerOptions {
  readonly clock: Clock;
  /** Bytes of the body that are read and thrown away at most. */
  readonly bytes: number;
  /** Time for the client to take the answer and to stop sending. */
  readonly ms: number;
}

/**
 * Lets the client of HTTP/1.1 read an answer that comes before its body has ended. The connection is to be closed after that
 * answer, but closing one with bytes that nobody has read resets it, and the client loses the answer with it (RFC 9112,
 * section 9.6). So the rest of the body is read and thrown away for a while, and the connection ended then. To be called
 * before the answer is written.
 */
export function lingerAfterAnswer(request: IncomingMessage, { clock, bytes, ms }: LingerOptions): void {
  const socket = request.socket as TLSSocket;
  const enough = socket.bytesRead + bytes;
  request.removeAllListeners('data');
  request.on('data', () => {
    if (socket.bytesRead > enough) socket.destroy();
  });
  request.resume();
  // What Node.js calls when the answer has left and the connection is not to be kept.
  socket.destroySoon = () => {
    const timer = clock.setTimer(() => socket.destroy(), ms);
    socket.once('close', () => timer.cancel());
    if (request.complete) socket.end(() => socket.destroy());
    else {
      request.once('end', () => socket.destroy());
      // The answer is all that the client gets.
      socket.end();
    }
  };
}

/**
 * The same for a body of which a part was passed on, whose answer may be on its way already and have promised that the
 * connection stays: it does, if the rest comes soon.
 */
export function drainAbandoned(request: IncomingMessage, options: LingerOptions): void {
  const { socket } = request;
  lingerAfterAnswer(request, options);
  const timer = options.clock.setTimer(() => {
    if (!request.complete) socket.destroy();
  }, options.ms);
  socket.once('close', () => timer.cancel());
  request.once('end', () => timer.cancel());
}
