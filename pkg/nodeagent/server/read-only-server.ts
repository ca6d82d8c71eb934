/** The port without authentication, over plain HTTP: what release 1.24 shows there, and nothing that acts. */
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

/** Undefined when the port cannot be listened on: the node goes on without, and the log says why. */
export async function serveReadOnly(options: ReadOnlyServerOptions): Promise<ReadOnlyServer | undefined> {
  const { log, onRequest, routes } = options;
  const app = plainApp(log);
  // Routes know nothing of what carries their requests.
  routes(app as unknown as DaemonApp);
  if (onRequest !== undefined) {
    app.server.on('request', ({ method = '', url = '' }: IncomingMessage, response: ServerResponse) => {
      response.once('close', onRequest(method, url));
    });
  }
  const port = await listenPlainly(app, options, log);
  return port === undefined ? undefined : { port, close: () => app.close() };
}
