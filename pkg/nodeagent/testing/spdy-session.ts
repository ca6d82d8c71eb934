/** The client's side of SPDY sessions, for tests. */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { protocolVersionHeader, spdyUpgrade } from '#daemon/streaming/protocols.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';

export interface UpgradeRequest {
  /** `https:`; the certificate is not checked. */
  readonly url: string;
  readonly protocols: readonly string[];
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's certificate. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

/** The server's response without an upgrade. */
export class NotUpgraded extends Error {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;

  constructor(response: IncomingMessage, body: string) {
    super(`${response.statusCode}: ${body}`);
    this.code = response.statusCode ?? 0;
    this.headers = response.headers;
    this.body = body;
  }
}

/** A request without an upgrade to the same server. */
export function plainRequest(
  url: string,
  { body, ...options }: Pick<UpgradeRequest, 'method' | 'headers'> & { readonly body?: string },
): Promise<{ code: number; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request(url, { ...options, agent: false, rejectUnauthorized: false }, (response) => {
      text(response).then((body) => resolve({ code: response.statusCode ?? 0, body }), reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}

export interface OpenSpdy {
  readonly session: SpdySession;
  readonly socket: Duplex;
  /** The protocol that the server selected. */
  readonly protocol: string | undefined;
}

/** Rejects with NotUpgraded. */
export function openSpdy({ url, protocols, method = 'POST', headers = {}, tls }: UpgradeRequest): Promise<OpenSpdy> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      ...tls,
      method,
      agent: false,
      rejectUnauthorized: false,
      headers: {
        Connection: 'Upgrade',
        Upgrade: spdyUpgrade,
        ...(protocols.length === 0 ? {} : { [protocolVersionHeader]: [...protocols] }),
        ...headers,
      },
    });
    call.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      const protocol = response.headers[protocolVersionHeader.toLowerCase()] as string | undefined;
      resolve({ session: new SpdySession(socket, 'client'), socket, protocol });
    });
    call.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => reject(new NotUpgraded(response, Buffer.concat(parts).toString())));
    });
    call.on('error', reject);
    call.end();
  });
}

/** Reads a stream to its end. */
export async function bytesOf(stream: SpdyStream): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

export interface CommandResult {
  readonly protocol: string | undefined;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly error: string;
}

/** One exec or attach as 1.24's command-line client does it; opens the streams in `types`. */
export async function spdyCommand(
  upgradeRequest: UpgradeRequest,
  types: readonly string[],
  input?: (stdin: SpdyStream) => void,
): Promise<CommandResult> {
  const { session, protocol } = await openSpdy(upgradeRequest);
  const streams = new Map(types.map((streamtype) => [streamtype, session.open({ streamtype })]));
  const stdin = streams.get('stdin');
  if (stdin !== undefined) input?.(stdin);
  const read = (type: string) => {
    const stream = streams.get(type);
    return stream === undefined ? Promise.resolve(Buffer.alloc(0)) : bytesOf(stream);
  };
  const [stdout, stderr, error] = await Promise.all([read('stdout'), read('stderr'), read('error')]);
  session.close();
  return { protocol, stdout, stderr, error: error.toString() };
}
