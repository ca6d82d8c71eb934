/** Negotiates the protocol of upgraded connections: rules and texts of release 1.24. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  acceptedVersionsHeader,
  channelProtocol,
  portForwardProtocol,
  protocolVersionHeader,
  spdyUpgrade,
  tunnelledPortForwardProtocol,
} from '#daemon/streaming/protocols.js';

export type SessionKind = 'exec' | 'attach' | 'portForward';

/** `protocol` is empty if the client requested none. */
export interface Negotiated {
  readonly transport: 'spdy' | 'webSocket';
  readonly protocol: string;
}

/** The upgrade failed; the response is plain text. */
export class UpgradeRefused extends Error {
  readonly code: 400 | 403 | 500;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: 400 | 403 | 500, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

const { v5, v4, v3, v2, v1, v4Base64, v1Base64 } = channelProtocol;

const accepted = {
  spdy: { command: [v4, v3, v2, v1], portForward: [portForwardProtocol] },
  webSocket: {
    command: [v5, v4, v4Base64, v1, v1Base64],
    portForward: [v4, v4Base64, tunnelledPortForwardProtocol],
  },
} as const;

/** Selects the client's first supported protocol. Throws UpgradeRefused. */
export function negotiate(headers: IncomingHttpHeaders, kind: SessionKind): Negotiated {
  const upgrade = (headers.upgrade ?? '').toLowerCase();
  const use = kind === 'portForward' ? 'portForward' : 'command';
  if (upgrade === 'websocket') {
    const requested = listed(headers['sec-websocket-protocol']);
    const supported: readonly string[] = accepted.webSocket[use];
    const protocol = requested.length === 0 ? '' : requested.find((each) => supported.includes(each));
    if (protocol !== undefined) return { transport: 'webSocket', protocol };
    const lists = `${goList(requested)}; supports ${goList(supported)}`;
    throw new UpgradeRefused(403, `unable to upgrade: requested protocol(s) are not supported: ${lists}`);
  }
  if (!upgrade.includes(spdyUpgrade.toLowerCase())) {
    throw new UpgradeRefused(400, 'unable to upgrade: missing upgrade headers in request');
  }
  const requested = listed(headers[protocolVersionHeader.toLowerCase()]);
  const supported: readonly string[] = accepted.spdy[use];
  const protocol = requested.length === 0 ? '' : requested.find((each) => supported.includes(each));
  if (protocol !== undefined) return { transport: 'spdy', protocol };
  throw new UpgradeRefused(
    403,
    `unable to upgrade: unable to negotiate protocol: client supports ${goList(requested)}, server accepts ${goList(supported)}`,
    { [acceptedVersionsHeader]: supported.join(', ') },
  );
}

function listed(header: string | readonly string[] | undefined): string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',');
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Go's format of a list. */
function goList(texts: readonly string[]): string {
  return `[${texts.join(' ')}]`;
}

/** Largest client message, as in release 1.24. */
const maxMessageBytes = 32 * 1024 * 1024;

/** Completes a WebSocket handshake with a negotiated subprotocol. */
export class WebSocketUpgrader {
  readonly #chosen = new WeakMap<IncomingMessage, string>();
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: maxMessageBytes });

  constructor() {
    this.#server.on('headers', (headers, request) => {
      const protocol = this.#chosen.get(request) ?? '';
      if (protocol !== '') headers.push(`Sec-WebSocket-Protocol: ${protocol}`);
    });
  }

  /** Undefined if the client disconnected, or sent an invalid handshake and got an error. */
  accept(
    upgrade: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
    protocol: string,
  ): Promise<WebSocket | undefined> {
    const { request, socket, head } = upgrade;
    // `ws` rejects subprotocol names with a slash, such as `SPDY/3.1+portforward.k8s.io`, so hide them from it.
    delete request.headers['sec-websocket-protocol'];
    this.#chosen.set(request, protocol);
    return new Promise((resolve) => {
      socket.once('close', () => resolve(undefined));
      this.#server.handleUpgrade(request, socket, head, resolve);
    });
  }

  close(): void {
    this.#server.close();
  }
}
