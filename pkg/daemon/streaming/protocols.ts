/**
 * Names of the protocols inside upgraded connections. They belong to the clients that are in the field, so a cluster
 * of either dialect answers to them.
 */
import { kubernetesDialect } from '#apimachinery/dialect.js';

const domain = kubernetesDialect.apiDomain;

/** What clients that speak SPDY write into their Upgrade header. */
export const spdyUpgrade = 'SPDY/3.1';

/** Request header: protocols that the client speaks over SPDY, the best first. Answer header: the one chosen. */
export const protocolVersionHeader = 'X-Stream-Protocol-Version';
/** Answer header beside a refusal: what the server would have taken. */
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
/** The same inside a WebSocket (KEP-4006); RFC 6455 allows no slash in such a name, clients send it all the same. */
export const tunnelledPortForwardProtocol = `${spdyUpgrade}+${portForwardProtocol}`;

/** Logs over WebSocket: messages of bytes, or of base64 text. */
export const logProtocol = { binary: `binary.${domain}`, base64: `base64.binary.${domain}` } as const;
