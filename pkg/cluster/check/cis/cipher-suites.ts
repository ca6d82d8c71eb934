/** Cipher suites that the CIS benchmark calls strong. */

const strong: ReadonlySet<string> = new Set([
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
]);

/** The problem with the value of `--tls-cipher-suites`; undefined: none. */
export function weakSuites(suites: readonly string[]): string | undefined {
  if (suites.length === 0) return '--tls-cipher-suites is not set; the defaults of the runtime apply up to TLS 1.2';
  const weak = suites.filter((suite) => !strong.has(suite));
  return weak.length === 0 ? undefined : `not strong: ${weak.join(', ')}`;
}
