/** Whom TLS clients trust. */
import type { SecureContextOptions } from 'node:tls';

/**
 * As in 1.24, each certificate of a bundle is an anchor, self-signed or not: an intermediate authority, or the server's
 * own certificate. OpenSSL by itself takes only self-signed ones (Node.js takes the option since 20.18 and 22.9).
 */
export function trusted<T extends SecureContextOptions>(options: T): T & { readonly allowPartialTrustChain: true } {
  return { ...options, allowPartialTrustChain: true };
}
