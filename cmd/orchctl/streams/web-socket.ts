/** WebSockets to the API server. */
import { type ClientOptions, WebSocket } from 'ws';
import type { WebSocketTarget } from '#cmd/orchctl/api/api.js';

/** A WebSocket that speaks one of `protocols`; not open yet. */
export function openWebSocket(
  target: WebSocketTarget,
  protocols: string[],
  more: Pick<ClientOptions, 'finishRequest'> = {},
): WebSocket {
  const connection = (_options: object, done: (error: unknown, socket?: unknown) => void): undefined => {
    target.dial().then((socket) => done(null, socket), done);
  };
  return new WebSocket(target.url, protocols, {
    // A list is a header for each of its values; the type knows only one.
    headers: { ...target.headers } as Record<string, string>,
    perMessageDeflate: false,
    ...more,
    // Connections are opened by the client's own rules; the type knows only the form that answers at once.
    createConnection: connection as unknown as NonNullable<ClientOptions['createConnection']>,
  });
}
