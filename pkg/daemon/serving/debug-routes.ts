/** A daemon's debug endpoints as routes of its server. */
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { queryOf } from '#daemon/serving/request-target.js';

/** Bodies are numbers: nothing longer is read. */
const bodyLimitBytes = 1024;

export function addDebugRoutes(app: DaemonApp, debug: DebugEndpoints): void {
  // In a scope of its own: the daemon's routes read other kinds of bodies. The server waits for it when it listens.
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: bodyLimitBytes }, (_request, body, read) =>
      read(null, body),
    );
    // The index of profiles is a folder; links on it go by that.
    const urls = debug.paths.flatMap((path) => (path === '/debug/pprof' ? [path, `${path}/`] : [path]));
    for (const path of urls) {
      scope.route({
        method: ['GET', 'POST', 'PUT'],
        url: path,
        handler: async (request, reply) => {
          const gone = new AbortController();
          reply.raw.once('close', () => gone.abort());
          const response = await debug.respond({
            method: request.method,
            path,
            query: queryOf(request),
            accept: request.headers.accept ?? '',
            body: () => Promise.resolve(typeof request.body === 'string' ? request.body : ''),
            signal: gone.signal,
          });
          if (response === undefined) throw new TypeError(`no endpoint at ${path}`);
          await reply.code(response.status).headers(response.headers).send(response.body);
        },
      });
    }
    done();
  });
}
