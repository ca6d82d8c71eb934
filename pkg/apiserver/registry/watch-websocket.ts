/** Watches over WebSocket: one message per event, as text for JSON and as bytes (a WatchEvent) for Protobuf. */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { tokenSubprotocolPrefix } from '#apiserver/http/websocket.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { negotiateWatch, openWatch } from '#apiserver/registry/watch.js';

/** Limit of a client's message: clients have nothing to send. */
const maxPayloadBytes = 1024;

/** Throws like a watch before the connection is upgraded; resolves when it is, with the end of the watch. */
export async function watchOverWebSocket(
  operation: Operation,
  connection: { readonly socket: Duplex; readonly head: Buffer },
): Promise<{ readonly ended: Promise<void> }> {
  const { registry, context } = operation;
  const form = negotiateWatch(operation);
  const frames = await openWatch(operation, form);
  const { method, url, headers } = context.request;
  const prefix = tokenSubprotocolPrefix(registry.dialect);
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxPayloadBytes,
    handleProtocols: (protocols) => [...protocols].find((protocol) => !protocol.startsWith(prefix)) ?? false,
  });
  // The library reads only these three members.
  const request = { method, url, headers } as IncomingMessage;
  const { signal } = context;
  const client = await new Promise<WebSocket>((resolve, reject) => {
    server.once('wsClientError', (error) => reject(badRequest(error.message, error)));
    // The library reports nothing about a client that has already disconnected.
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    server.handleUpgrade(request, connection.socket, connection.head, resolve);
  });
  client.on('error', (err) => registry.log.debug({ err, url }, 'watch connection failed'));
  const split = form.format === 'protobuf' ? frameSplitter() : lineSplitter();
  const send = async () => {
    for await (const piece of frames) {
      for (const message of split(piece)) {
        if (!(await registry.watches.messages.send(client, message))) return;
      }
    }
    client.close();
  };
  return { ended: send() };
}

/** Splits a stream's pieces into events. */
type Splitter = (piece: Buffer) => (string | Buffer)[];

function lineSplitter(): Splitter {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    const joined = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const end = joined.lastIndexOf(lineFeed) + 1;
    rest = joined.subarray(end);
    return end === 0 ? [] : joined.toString('utf8', 0, end - 1).split('\n');
  };
}

const lineFeed = 0x0a;

function frameSplitter(): Splitter {
  const reader = new WatchFrameReader({ maxFrameBytes: Number.MAX_SAFE_INTEGER });
  return (piece) => reader.pushRaw(piece);
}
