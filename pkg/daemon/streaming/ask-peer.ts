import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#apimachinery/clock.js';

const intervalMs = 30_000;
const nothing = Buffer.alloc(0);

/**
 * Finds out, twice a minute, that the peer of a connection has reset it. That is told to those who read and to those who
 * write; a connection that is made to wait is not read, and its other way may be silent for good. Writing nothing sends
 * nothing, and fails where the connection is no more.
 */
export function askPeer(socket: Duplex, clock: Clock): void {
  let timer: Timer;
  const ask = () => {
    // What waits to be written tells by itself.
    if (socket.writable && socket.writableLength === 0) socket.write(nothing);
    timer = clock.setTimer(ask, intervalMs);
  };
  timer = clock.setTimer(ask, intervalMs);
  socket.once('close', () => timer.cancel());
}
