/** Upgraded connections, WebSocket among them: bytes go both ways untouched, so that the protocol ends in the backend. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface Tunnel {
  readonly client: Duplex;
  /** What the client has sent after its request. */
  readonly clientHead: Buffer;
  readonly backend: Socket;
  readonly backendHead: Buffer;
  /** The backend's answer, 101. */
  readonly switched: IncomingMessage;
  /** Longest silence; ms. */
  readonly silenceMs: number;
}

const keepAliveMs = 30_000;
/** For a side to take the last words of the other. */
const lingerMs = 10_000;

export function openTunnel({ backend, backendHead, client, clientHead, silenceMs, switched }: Tunnel): void {
  const socket = client as Socket;
  const end = () => {
    backend.destroy();
    client.destroy();
  };
  for (const side of [backend, socket]) {
    side.setNoDelay(true);
    // Whoever is gone without a word is found out.
    side.setKeepAlive(true, keepAliveMs);
    // What one side says the other one hears: when one is silent, both are.
    side.setTimeout(silenceMs, end);
    side.on('error', end);
  }
  backend.once('close', () => closing(client, end));
  client.once('close', () => closing(backend, end));
  client.write(headOf(switched), 'latin1');
  if (backendHead.length > 0) client.write(backendHead);
  if (clientHead.length > 0) backend.write(clientHead);
  backend.pipe(client);
  client.pipe(backend);
}

/** What was said last still arrives. */
function closing(side: Duplex, end: () => void): void {
  if (side.destroyed) return;
  side.end();
  side.resume();
  const timer = setTimeout(end, lingerMs);
  timer.unref();
  side.once('close', () => clearTimeout(timer));
}

function headOf({ rawHeaders, statusMessage = '' }: IncomingMessage): string {
  let text = `HTTP/1.1 101 ${statusMessage}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}
