/** IANA's names of cipher suites and the options' names of versions, as the runtime wants them. */
import type { SecureVersion } from 'node:tls';

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** The runtime's name of `VersionTLS12`; undefined for an unknown one. */
export function secureVersion(name: string): SecureVersion | undefined {
  return versions[name];
}

/** OpenSSL's name of an IANA cipher suite up to TLS 1.2, such as ECDHE-RSA-AES128-GCM-SHA256. Pure. */
export function opensslCipher(name: string): string {
  // The suites of TLS 1.3 have one name only.
  if (!name.includes('_WITH_')) return name;
  const [exchange = '', cipher = ''] = name.replace(/^TLS_/, '').split('_WITH_');
  const key = exchange === 'RSA' ? '' : `${exchange.replaceAll('_', '-')}-`;
  const algorithm = cipher
    .replace(/^CHACHA20_POLY1305(_SHA256)?$/, 'CHACHA20-POLY1305')
    .replace(/^3DES_EDE_CBC_SHA$/, 'DES-CBC3-SHA')
    .replace(/^RC4_128_SHA$/, 'RC4-SHA')
    .replace(/^AES_(128|256)_CBC_(SHA\d*)$/, 'AES$1-$2')
    .replace(/^AES_(128|256)_GCM_(SHA\d+)$/, 'AES$1-GCM-$2');
  return key + algorithm;
}
