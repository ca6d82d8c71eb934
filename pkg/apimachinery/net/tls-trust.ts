/** Trust anchors of TLS clients. */
import type { SecureContextOptions } from 'node:tls';

/**
 * As in 1.24, every certificate of a bundle is an anchor, self-signed or not: an intermediate authority, or the
 * server's own certificate. By default OpenSSL accepts only self-signed anchors (option since Node.js 20.18 and 22.9).
 */
export function withPartialTrustChain<T extends SecureContextOptions>(
  options: T,
): T & { readonly allowPartialTrustChain: true } {
  return { ...options, allowPartialTrustChain: true };
}
