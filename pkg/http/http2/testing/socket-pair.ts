/** An in-process connection. */
import { type Duplex, duplexPair } from 'node:stream';

/**
 * A socket and its peer. Unlike Node.js's pair, it copies data before the write completes, as the system does: sessions
 * reuse the memory then, while the peer may not have read it.
 */
export function socketPair(): [socket: Duplex, peer: Duplex] {
  const [socket, peer] = duplexPair();
  const push = peer.push.bind(peer);
  peer.push = (chunk: Buffer | null) => push(chunk === null ? null : Buffer.from(chunk));
  return [socket, peer];
}
