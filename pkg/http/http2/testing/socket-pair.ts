/** A connection without a system in between. */
import { type Duplex, duplexPair } from 'node:stream';

/**
 * A socket and its peer. As the system does, and Node.js's pair does not, what was written is copied before the writer hears
 * that it has left: sessions use its memory for the next write then, while the peer may still have it to read.
 */
export function socketPair(): [socket: Duplex, peer: Duplex] {
  const [socket, peer] = duplexPair();
  const push = peer.push.bind(peer);
  peer.push = (chunk: Buffer | null) => push(chunk === null ? null : Buffer.from(chunk));
  return [socket, peer];
}
