/**
 * Tunnels upgraded connections (SPDY, WebSocket and others) for all servers that forward them: after the backend's 101
 * response, bytes pass unchanged in both directions.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { rateLimit } from '#daemon/streaming/rate-limit.js';

/** A backend's response to an upgrade request. */
export type UpgradeAnswer = Switched | { readonly refusal: IncomingMessage };

export interface Switched {
  /** The backend's 101 response. */
  readonly switched: IncomingMessage;
  readonly backend: Socket;
  /** Bytes that followed the response. */
  readonly backendHead: Buffer;
}

/** Interim responses (1xx) of one request. Each is a sign of life, so a backend could go on with them for ever. */
export const maxInterim = 100;
export const tooManyInterim = 'the backend sent too many interim responses';

/** Ends the request, which has no body. Rejects with the network's error, or after `answerMs` without a response. */
export function askUpgrade(outgoing: ClientRequest, answerMs: number): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.setTimeout(answerMs, () => outgoing.destroy(new Error(`no answer in ${answerMs / 1000} s`)));
    let interim = 0;
    outgoing.on('information', () => {
      interim += 1;
      if (interim > maxInterim) outgoing.destroy(new Error(tooManyInterim));
    });
    outgoing.once('upgrade', (switched: IncomingMessage, backend: Socket, backendHead: Buffer) => {
      backend.setTimeout(0);
      resolve({ switched, backend, backendHead });
    });
    outgoing.once('response', (refusal) => resolve({ refusal }));
    // Later errors belong to the socket or to the response's body.
    outgoing.on('error', reject);
    outgoing.end();
  });
}

export interface Tunnel extends Switched {
  readonly client: Duplex;
  /** Bytes that followed the client's request. */
  readonly clientHead: Buffer;
  readonly clock: Clock;
  /** Ends the tunnel; absent: only its two sides do. */
  readonly signal?: AbortSignal;
  /** Limit of silence on both sides, in milliseconds; absent: none. */
  readonly silenceMs?: number;
  /** Limit of each direction; absent or 0: none. */
  readonly bytesPerSecond?: number | undefined;
}

const keepAliveMs = 30_000;
/** Time for a client to read the backend's last bytes and to close. */
const lingerMs = 10_000;

/** Connects both sides and sends the response to the client. Owns both sockets. */
export function openTunnel(tunnel: Tunnel): void {
  const { backend, backendHead, client, clientHead, clock, signal, silenceMs, switched } = tunnel;
  const { bytesPerSecond = 0 } = tunnel;
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
    // A side that ended its half may be dead; TCP probes detect that.
    side.setKeepAlive(true, keepAliveMs);
    // Data on one side is written to the other, so one timeout covers both.
    if (silenceMs !== undefined) side.setTimeout(silenceMs, end);
  }
  signal?.addEventListener('abort', end, { once: true });
  // An error of one side ends the other; there is no other place to report it.
  client.on('error', end);
  backend.on('error', () => undefined);
  // A write to a side that has ended breaks it, and a broken client loses the backend's last bytes.
  backend.once('end', () => {
    client.unpipe();
    client.resume();
  });
  backend.once('close', () => {
    signal?.removeEventListener('abort', end);
    if (client.destroyed) return;
    // The backend's last bytes must still reach the client. Its input is discarded, but a socket that is not read does
    // not report a dead peer.
    client.end();
    client.resume();
    const timer = clock.setTimer(end, lingerMs);
    client.once('close', () => timer.cancel());
  });
  client.once('close', () => backend.destroy());
  client.write(headOf(switched), 'latin1');
  if (backendHead.length > 0) client.write(backendHead);
  if (clientHead.length > 0) backend.write(clientHead);
  if (bytesPerSecond > 0) {
    const limits = [rateLimit(clock, bytesPerSecond), rateLimit(clock, bytesPerSecond)] as const;
    backend.pipe(limits[0]).pipe(client);
    client.pipe(limits[1]).pipe(backend);
    for (const limit of limits) for (const side of [client, backend]) side.once('close', () => limit.destroy());
  } else {
    backend.pipe(client);
    client.pipe(backend);
  }
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
 * Detects a connection that the peer has reset, twice a minute. Only readers and writers learn of it; a paused
 * connection is not read, and its other direction may be silent. An empty write sends nothing, and fails if the
 * connection is gone.
 */
export function probePeer(socket: Duplex, clock: Clock): void {
  let timer: Timer;
  const ask = () => {
    // Pending data detects it, too.
    if (socket.writable && socket.writableLength === 0) socket.write(nothing);
    timer = clock.setTimer(ask, intervalMs);
  };
  timer = clock.setTimer(ask, intervalMs);
  socket.once('close', () => timer.cancel());
}
