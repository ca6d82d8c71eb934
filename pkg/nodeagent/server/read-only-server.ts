/** The port without authentication, over plain HTTP: release 1.24's read-only routes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '#daemon/log/logger.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { listenPlainly, plainApp } from '#daemon/serving/plain-http.js';

export interface ReadOnlyServerOptions {
  readonly address: string;
  readonly port: number;
  readonly log: Logger;
  readonly routes: (app: DaemonApp) => void;
  readonly onRequest: ((method: string, url: string) => () => void) | undefined;
}

export interface ReadOnlyServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Undefined if the port is not available: the node continues without, and the reason is logged. */
export async function serveReadOnly(options: ReadOnlyServerOptions): Promise<ReadOnlyServer | undefined> {
  const { log, onRequest, routes } = options;
  const app = plainApp(log);
  // Routes work the same with both kinds of server.
  routes(app as unknown as DaemonApp);
  if (onRequest !== undefined) {
    app.server.on('request', ({ method = '', url = '' }: IncomingMessage, response: ServerResponse) => {
      response.once('close', onRequest(method, url));
    });
  }
  const port = await listenPlainly(app, options, log);
  return port === undefined ? undefined : { port, close: () => app.close() };
}
