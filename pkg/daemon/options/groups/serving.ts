/** Options of a daemon's HTTPS port. */
import { quoted } from '#apimachinery/errors/message-values.js';
import { strictFamily } from '#apimachinery/net/parse-ip.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { inOrder, type Rule } from '#daemon/options/validate.js';

/** Cipher suites that 1.24 prefers, by their IANA names. */
export const preferredCipherSuites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_RSA_WITH_AES_128_CBC_SHA',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_RSA_WITH_AES_256_CBC_SHA',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
] as const;

/** Accepted but not recommended cipher suites. */
export const insecureCipherSuites = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_ECDSA_WITH_RC4_128_SHA',
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_ECDHE_RSA_WITH_RC4_128_SHA',
  'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'TLS_RSA_WITH_RC4_128_SHA',
] as const;

const cipherSuites: readonly string[] = [...preferredCipherSuites, ...insecureCipherSuites];

const tlsVersions: readonly string[] = ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'];

/** The error of 1.24 for an invalid address; unlike elsewhere it refuses leading zeros. */
export function addressError(text: string): string | undefined {
  return strictFamily(text.trim()) === 0 ? `failed to parse IP: ${quoted(text)}` : undefined;
}

function sniPairError(text: string): string | undefined {
  const files = text.split(':', 1)[0]?.split(',') ?? [];
  return files.length === 2 ? undefined : 'expected comma separated certificate and key file paths';
}

const section = 'Secure serving';

/** The serving options with the daemon's own port. */
export function servingOptions<const P extends number>(defaults: { readonly securePort: P }) {
  return {
    'bind-address': {
      type: 'string',
      default: '0.0.0.0',
      section,
      check: addressError,
      meaning: 'Address of the secure port. 0.0.0.0 and :: mean all interfaces.',
    },
    'secure-port': {
      type: 'int',
      default: defaults.securePort,
      section,
      meaning: 'HTTPS port with authentication and authorization; 0 disables HTTPS.',
    },
    'cert-dir': {
      type: 'string',
      section,
      meaning: 'Directory of the TLS certificates; ignored when --tls-cert-file and --tls-private-key-file are given.',
    },
    'tls-cert-file': {
      type: 'string',
      section,
      meaning:
        'Serving certificate, followed by its CA certificate if there is one. Without certificate and key a self-signed pair is created in --cert-dir.',
    },
    'tls-private-key-file': { type: 'string', section, meaning: 'Private key that belongs to --tls-cert-file.' },
    'tls-sni-cert-key': {
      type: 'stringArray',
      check: sniPairError,
      section,
      meaning:
        'Paths of a certificate and its key, `cert,key`, optionally followed by a colon and the names it serves. Repeatable. Explicit names win over those in the certificate, full names over wildcards.',
    },
    'tls-cipher-suites': {
      type: 'strings',
      choices: cipherSuites,
      section,
      meaning:
        'Cipher suites for TLS up to 1.2. Empty: the defaults of the runtime. Suites with RC4 or 3DES are refused, because the TLS library has neither.',
    },
    'tls-min-version': { type: 'string', choices: tlsVersions, section, meaning: 'Lowest TLS version accepted.' },
    'http2-max-streams-per-connection': {
      type: 'int',
      inert: 'the port speaks HTTP/1.1, which has no streams',
      section,
      meaning: 'Streams that one HTTP/2 connection may open; 0 leaves it to the runtime.',
    },
    'permit-address-sharing': {
      type: 'bool',
      inert: 'the runtime always does this',
      inertUnless: ['true'],
      section,
      meaning: 'Bind with SO_REUSEADDR.',
    },
    'permit-port-sharing': {
      type: 'bool',
      section,
      meaning:
        'Bind with SO_REUSEPORT, so that several instances share address and port. The system spreads connections over them, also over one that is stuck.',
    },
  } as const satisfies OptionTable;
}

export type ServingValues = OptionValues<ReturnType<typeof servingOptions<number>>>;

const highestPort = 65_535;

function requiredPortError(port: number): string {
  return `--secure-port ${port} must be between 1 and ${highestPort}, inclusive. It cannot be turned off with 0`;
}

/** Rule for the port of a standalone server, which cannot be turned off. */
export const requiredPortRule: Rule<Pick<ServingValues, 'secure-port'>> = ({ 'secure-port': port }) =>
  port >= 1 && port <= highestPort ? [] : [requiredPortError(port)];

/** Rules of 1.24 for a port that may be turned off. */
export const servingRules: Rule<ServingValues> = (values) => {
  const messages: string[] = [];
  const port = values['secure-port'];
  if (port > highestPort) messages.push(requiredPortError(port));
  else if (port < 0) {
    messages.push(`--secure-port ${port} must be between 0 and 65535, inclusive. 0 for turning off secure port`);
  }
  return messages;
};

/** Certificate pair and TLS settings, checked in this order when the port is opened. */
export const tlsRules: Rule<ServingValues> = inOrder(
  (values) => {
    const names = [values['tls-cert-file'] ?? '', values['tls-private-key-file'] ?? ''];
    return names.filter((name) => name !== '').length === 1 ? ['missing filename for serving cert'] : [];
  },
  (values) => cipherErrors(values['tls-cipher-suites'], values['tls-min-version'] ?? ''),
);

/** Ciphers of 1.24 that OpenSSL is built without here. */
const unservedCiphers: Readonly<Record<string, string>> = {
  RC4: 'RFC 7465 prohibits it',
  '3DES': 'its short blocks leak data (CVE-2016-2183)',
};

function unservedError(suite: string): string | undefined {
  const [cipher, reason] = Object.entries(unservedCiphers).find(([name]) => suite.includes(`_${name}_`)) ?? [];
  return cipher && `Cipher suite ${suite} cannot be served: the TLS library has no ${cipher}, because ${reason}`;
}

/** The first problem that 1.24 reports, or a suite that cannot be served. An empty version means the default. */
export function cipherErrors(suites: readonly string[], version: string): string[] {
  const unknown = suites.find((suite) => !cipherSuites.includes(suite));
  if (unknown !== undefined) return [`Cipher suite ${unknown} not supported or doesn't exist`];
  const unserved = suites.map(unservedError).find((error) => error !== undefined);
  if (unserved !== undefined) return [unserved];
  return version === '' || tlsVersions.includes(version) ? [] : [`unknown tls version ${quoted(version)}`];
}
