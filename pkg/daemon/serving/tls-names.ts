/** Converts IANA's cipher suite names and the options' version names to Node.js's. */
import { DEFAULT_CIPHERS, type SecureVersion } from 'node:tls';

/** All suites of TLS 1.3, in 1.24's order: encryption with the first costs a sixth less than with the second. */
const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** Node.js's name of `VersionTLS12`; undefined if unknown. */
export function secureVersion(name: string): SecureVersion | undefined {
  return versions[name];
}

/** OpenSSL's name of an IANA cipher suite up to TLS 1.2, such as ECDHE-RSA-AES128-GCM-SHA256. Pure. */
export function opensslCipher(name: string): string {
  // TLS 1.3 suites have only one name.
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

/**
 * Node.js's cipher list for a server, in order of preference. `names` are IANA names for TLS up to 1.2; empty:
 * Node.js's defaults. TLS 1.3 suites are fixed, as in 1.24. Pure.
 */
export function serverCiphers(names: readonly string[]): string {
  const older = names.length === 0 ? DEFAULT_CIPHERS.split(':') : names.map(opensslCipher);
  return [...tls13, ...older.filter((name) => !name.startsWith('TLS_'))].join(':');
}
