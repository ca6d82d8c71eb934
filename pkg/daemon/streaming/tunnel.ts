/**
 * Upgraded connections (SPDY, WebSocket, or whatever the client asks for), for every server that passes them on: once the
 * backend has switched protocols (101), bytes go both ways untouched, so that the protocol inside ends in the backend.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** What came back for a request for another protocol. */
export type UpgradeAnswer = Switched | { readonly refusal: IncomingMessage };

export interface Switched {
  /** The backend's answer, 101. */
  readonly switched: IncomingMessage;
  readonly backend: Socket;
  /** What the backend has said after its answer. */
  readonly backendHead: Buffer;
}

/** Ends the request, which has no body. Rejects with the network's error, also when there is no answer in `answerMs`. */
export function askUpgrade(outgoing: ClientRequest, answerMs: number): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.setTimeout(answerMs, () => outgoing.destroy(new Error(`no answer in ${answerMs / 1000} s`)));
    outgoing.once('upgrade', (switched: IncomingMessage, backend: Socket, backendHead: Buffer) => {
      backend.setTimeout(0);
      resolve({ switched, backend, backendHead });
    });
    outgoing.once('response', (refusal) => resolve({ refusal }));
    // Later failures are those of the socket, or of the answer's body.
    outgoing.on('error', reject);
    outgoing.end();
  });
}

export interface Tunnel extends Switched {
  readonly client: Duplex;
  /** What the client has sent after its request. */
  readonly clientHead: Buffer;
  readonly clock: Clock;
  /** Ends the tunnel; absent: only its two sides do. */
  readonly signal?: AbortSignal;
  /** Longest silence of both sides, in milliseconds; absent: any. */
  readonly silenceMs?: number;
}

const keepAliveMs = 30_000;
/** Time for a client to take the backend's last words and to hang up. */
const lingerMs = 10_000;

/** Connects both sides, and answers the client. Owns both from here on. */
export function openTunnel(tunnel: Tunnel): void {
  const { backend, backendHead, client, clientHead, clock, signal, silenceMs, switched } = tunnel;
  if (signal?.aborted === true || client.destroyed) {
    backend.destroy();
    return;
  }
  const end = () => {
    backend.destroy();
    client.destroy();
  };
  for (const side of [client, backend]) {
    if (!(side instanceof Socket)) continue;
    side.setNoDelay(true);
    // A side that ended its half may be gone altogether: probes of the connection tell.
    side.setKeepAlive(true, keepAliveMs);
    // What one side says the other one hears: when one is silent, both are.
    if (silenceMs !== undefined) side.setTimeout(silenceMs, end);
  }
  signal?.addEventListener('abort', end, { once: true });
  // There is no one to report a failure of one side to but the other side, which sees the end.
  client.on('error', end);
  backend.on('error', () => undefined);
  // A write to a side that has ended breaks it, and a client that is broken off loses the backend's last words.
  backend.once('end', () => {
    client.unpipe(backend);
    client.resume();
  });
  backend.once('close', () => {
    signal?.removeEventListener('abort', end);
    if (client.destroyed) return;
    // What the backend said last must still reach the client. Its own words go nowhere now, but a socket that
    // is not read does not tell that its peer has gone.
    client.end();
    client.resume();
    const timer = clock.setTimer(end, lingerMs);
    client.once('close', () => timer.cancel());
  });
  client.once('close', () => backend.destroy());
  client.write(headOf(switched), 'latin1');
  if (backendHead.length > 0) client.write(backendHead);
  if (clientHead.length > 0) backend.write(clientHead);
  backend.pipe(client);
  client.pipe(backend);
  for (const side of [client, backend]) probePeer(side, clock);
}

function headOf({ rawHeaders, statusMessage = '' }: IncomingMessage): string {
  let text = `HTTP/1.1 101 ${statusMessage}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}

const intervalMs = 30_000;
const nothing = Buffer.alloc(0);

/**
 * Finds out, twice a minute, that the peer of a connection has reset it. That is told to those who read and to those who
 * write; a connection that is made to wait is not read, and its other way may be silent for good. Writing nothing sends
 * nothing, and fails where the connection is no more.
 */
export function probePeer(socket: Duplex, clock: Clock): void {
  let timer: Timer;
  const ask = () => {
    // What waits to be written tells by itself.
    if (socket.writable && socket.writableLength === 0) socket.write(nothing);
    timer = clock.setTimer(ask, intervalMs);
  };
  timer = clock.setTimer(ask, intervalMs);
  socket.once('close', () => timer.cancel());
}
