import type { Dialect } from '#apimachinery/dialect.js';

/** How a WebSocket subprotocol begins that is no protocol but a token. It is never answered with. */
export const tokenSubprotocolPrefix = (dialect: Dialect): string =>
  `base64url.bearer.authorization.${dialect.apiDomain}.`;
