/** Names of the protocols inside upgraded connections. Existing clients use them, so both dialects accept them. */
import { kubernetesDialect } from '#apimachinery/dialect.js';

const domain = kubernetesDialect.apiDomain;

/** Value of a SPDY client's Upgrade header. */
export const spdyUpgrade = 'SPDY/3.1';

/** Request header: the client's protocols over SPDY, best first. Response header: the chosen one. */
export const protocolVersionHeader = 'X-Stream-Protocol-Version';
/** Response header of a refusal: the protocols that the server accepts. */
export const acceptedVersionsHeader = 'X-Accepted-Stream-Protocol-Versions';

/** Exec and attach, over SPDY and as WebSocket subprotocols. */
export const channelProtocol = {
  v5: `v5.channel.${domain}`,
  v4: `v4.channel.${domain}`,
  v3: `v3.channel.${domain}`,
  v2: `v2.channel.${domain}`,
  v1: `channel.${domain}`,
  v4Base64: `v4.base64.channel.${domain}`,
  v1Base64: `base64.channel.${domain}`,
} as const;

/** Port-forward over SPDY. */
export const portForwardProtocol = `portforward.${domain}`;
/** Port-forward in a WebSocket (KEP-4006). RFC 6455 allows no slash in the name, but clients send it. */
export const tunnelledPortForwardProtocol = `${spdyUpgrade}+${portForwardProtocol}`;

/** Logs over WebSocket, as binary or base64 messages. */
export const logProtocol = { binary: `binary.${domain}`, base64: `base64.binary.${domain}` } as const;
