/** WebSockets to the API server. */
import { type ClientOptions, WebSocket } from 'ws';
import type { WebSocketTarget } from '#cmd/orchctl/api/api.js';

/** A connecting WebSocket for one of `protocols`. */
export function openWebSocket(
  target: WebSocketTarget,
  protocols: string[],
  more: Pick<ClientOptions, 'finishRequest'> = {},
): WebSocket {
  const connection = (_options: object, done: (error: unknown, socket?: unknown) => void): undefined => {
    target.dial().then((socket) => done(null, socket), done);
  };
  return new WebSocket(target.url, protocols, {
    // An array becomes one header per value; the type allows only one value.
    headers: { ...target.headers } as Record<string, string>,
    perMessageDeflate: false,
    ...more,
    // The dialer connects asynchronously; the type allows only a synchronous function.
    createConnection: connection as unknown as NonNullable<ClientOptions['createConnection']>,
  });
}
