/** Chooses the proxy for a server from the environment, as other programs do. */
import { isIP } from 'node:net';
import { blockAround, blockContains } from '#apimachinery/net/ip.js';

/** Environment with proxy variables; a lower-case name counts if the upper-case one is not set. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

const schemes = new Set(['http:', 'https:', 'socks5:', 'socks5h:']);
const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Parses a proxy address; without a scheme it is an HTTP proxy. Throws TypeError if invalid. */
export function parseProxy(text: string): URL {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  let url: URL;
  try {
    url = new URL(whole);
  } catch (error) {
    throw new TypeError(`${JSON.stringify(text)} is not the address of a proxy`, { cause: error });
  }
  if (!schemes.has(url.protocol)) {
    throw new TypeError(
      `unsupported scheme ${JSON.stringify(url.protocol.slice(0, -1))} of a proxy: http, https or socks5`,
    );
  }
  return url;
}

/**
 * The proxy for `server`; undefined: none. Loopback addresses are always reached directly. Throws TypeError for an
 * invalid proxy. (The rules of Go's httpproxy package.)
 */
export function proxyFromEnvironment(server: URL, env: ProxyEnvironment): URL | undefined {
  const of = (name: string) => env[name] || env[name.toLowerCase()] || '';
  const text = of(server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (text === '' || isExcepted(server, of('NO_PROXY'))) return undefined;
  return parseProxy(text);
}

/** True for loopback addresses. */
export function isLoopback(server: URL): boolean {
  const host = bareHost(server);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function bareHost(server: URL): string {
  return server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

function isExcepted(server: URL, list: string): boolean {
  const host = bareHost(server);
  const port = server.port === '' ? (defaultPorts[server.protocol] ?? '') : server.port;
  if (isLoopback(server)) return true;
  return list.split(',').some((entry) => matches(entry.trim().toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  if (entry.includes('/')) return inRange(host, entry);
  const { name, port: entryPort } = splitPort(entry);
  if (entryPort !== '' && entryPort !== port) return false;
  if (isIP(name) !== 0) return inRange(host, `${name}/${isIP(name) === 4 ? 32 : 128}`);
  if (isIP(host) !== 0) return false;
  if (name.startsWith('*.')) return host.endsWith(name.slice(1));
  if (name.startsWith('.')) return host.endsWith(name);
  return host === name || host.endsWith(`.${name}`);
}

/** Splits `name:port` or `[address]:port`; the port may be missing, also after an IPv6 address. */
function splitPort(entry: string): { name: string; port: string } {
  const bracketed = /^\[(.*)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { name: bracketed[1] ?? '', port: bracketed[2] ?? '' };
  if (isIP(entry) !== 0) return { name: entry, port: '' };
  const match = /^(.*):(\d+)$/.exec(entry);
  return match === null ? { name: entry, port: '' } : { name: match[1] ?? '', port: match[2] ?? '' };
}

function inRange(host: string, range: string): boolean {
  const slash = range.indexOf('/');
  const length = range.slice(slash + 1);
  const block = /^\d{1,3}$/.test(length) ? blockAround(withoutZone(range.slice(0, slash)), Number(length)) : undefined;
  return block !== undefined && blockContains(block, host);
}

/** Removes the zone of an IPv6 address (`fe80::1%eth0`), which names an interface. */
function withoutZone(address: string): string {
  return isIP(address) === 6 ? address.replace(/%.*/, '') : address;
}
