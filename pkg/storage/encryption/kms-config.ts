/** A key management service in the encryption configuration. Rules and texts are 1.24's. */
import { formatDuration, parseDuration } from '#apimachinery/duration.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { Plain } from '#daemon/options/config-decode.js';
import { redacted, required, unknownFields } from '#storage/encryption/config-fields.js';

/** A key management service, which another program of this machine provides. */
export interface KmsProvider {
  readonly type: 'kms';
  readonly name: string;
  /** Path of the plugin's socket, or `@` and a name in Linux's abstract namespace. */
  readonly socket: string;
  readonly timeoutMs: number;
  /** Number of decrypted keys to keep; negative: none. */
  readonly cacheSize: number;
}

const defaultTimeoutMs = 3_000;
const defaultCacheSize = 1_000;
const maxInt32 = 2 ** 31 - 1;

/** The provider of `kms`; after an error, its value is of no use. */
export function kmsProvider(fields: Plain, path: string, errors: string[]): KmsProvider {
  unknownFields(fields, ['name', 'cachesize', 'endpoint', 'timeout'], `${path}.`, errors);
  const name = text(fields['name'], `${path}.name`, errors);
  if (name === '') errors.push(required(`${path}.name`, 'name is a mandatory field for a provider'));
  return {
    type: 'kms',
    name,
    timeoutMs: timeoutOf(fields['timeout'], `${path}.timeout`, errors),
    socket: socketOf(text(fields['endpoint'], `${path}.endpoint`, errors), `${path}.endpoint`, errors),
    cacheSize: cacheSizeOf(fields['cachesize'], `${path}.cachesize`, errors),
  };
}

function text(value: unknown, path: string, errors: string[]): string {
  if (typeof value === 'string') return value;
  if (value !== undefined && value !== null) errors.push(invalid(path, redacted, 'must be a string'));
  return '';
}

function timeoutOf(value: unknown, path: string, errors: string[]): number {
  if (value === undefined || value === null) return defaultTimeoutMs;
  let timeoutMs: number;
  try {
    if (typeof value !== 'string') throw new TypeError('no text');
    timeoutMs = parseDuration(value);
  } catch {
    errors.push(invalid(path, redacted, 'must be a duration'));
    return defaultTimeoutMs;
  }
  if (timeoutMs <= 0) errors.push(invalid(path, formatDuration(timeoutMs), 'timeout should be a positive value'));
  return timeoutMs;
}

function cacheSizeOf(value: unknown, path: string, errors: string[]): number {
  if (value === undefined || value === null) return defaultCacheSize;
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > maxInt32) {
    errors.push(invalid(path, redacted, 'must be a 32-bit integer'));
    return defaultCacheSize;
  }
  if (value === 0) errors.push(invalid(path, '0', 'cachesize should be a positive value, or negative to disable'));
  return value;
}

function socketOf(endpoint: string, path: string, errors: string[]): string {
  if (endpoint === '') {
    errors.push(invalid(path, '""', 'endpoint is a mandatory field for a kms'));
    return '';
  }
  const fault = urlFault(endpoint);
  if (fault !== undefined) {
    const reason = `invalid endpoint for kms provider, error: parse ${quoted(endpoint)}: ${fault}`;
    errors.push(invalid(path, quoted(endpoint), reason));
    return '';
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1]?.toLowerCase() ?? '';
  if (scheme !== 'unix') {
    const reason = `unsupported scheme ${quoted(scheme)} for KMS provider, only unix is supported`;
    errors.push(invalid(path, quoted(endpoint), reason));
    return '';
  }
  // Without the host, query and fragment, as in 1.24. Two leading slashes precede a host.
  const [rest = ''] = endpoint.slice('unix:'.length).split(/[?#]/, 1);
  const socket = decodeURIComponent(rest.startsWith('//') ? rest.replace(/^\/\/[^/]*/, '') : rest);
  return socket.startsWith('/@') ? socket.slice(1) : socket;
}

/** Why Go cannot parse the URL; undefined if it can. */
function urlFault(endpoint: string): string | undefined {
  if (/\p{Cc}/u.test(endpoint)) return 'net/url: invalid control character in URL';
  if (endpoint.startsWith(':')) return 'missing protocol scheme';
  const wrong = /%(?![0-9a-f]{2}).{0,2}/i.exec(endpoint)?.[0];
  if (wrong !== undefined) return `invalid URL escape ${quoted(wrong)}`;
  return isEncoded(endpoint) ? undefined : 'invalid UTF-8 in URL';
}

function isEncoded(endpoint: string): boolean {
  try {
    decodeURIComponent(endpoint);
    return true;
  } catch {
    return false;
  }
}

const invalid = (path: string, value: string, detail: string): string => `${path}: Invalid value: ${value}: ${detail}`;
