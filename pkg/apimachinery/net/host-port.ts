/** `host:port`; IPv6 addresses get brackets (RFC 3986, section 3.2.2). */
export function hostPort(host: string, port: number | string): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
