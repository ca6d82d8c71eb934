/** How servers of this project pass requests and answers on: as they are. */
import { endToEnd } from '#daemon/streaming/end-to-end.js';

/** Methods that may be repeated when it is not known whether they were heard (RFC 9110, 9.2.2). */
export const repeatableMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Options of `@fastify/http-proxy`. */
export const passedOnAsIs = {
  // Requests for another protocol have a tunnel of their own.
  websocket: false,
  internalRewriteLocationHeader: false,
  disableRequestLogging: true,
} as const;

/** Its `replyOptions`. */
export const answersAsTheyAre = {
  rewriteHeaders: endToEnd,
  // A 503 is an answer: the library would ask again up to ten times.
  retryDelay: () => null,
} as const;
