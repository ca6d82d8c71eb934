/** `host:port` of a name or an address without brackets, which addresses of IPv6 get (RFC 3986, section 3.2.2). */
export function hostPort(host: string, port: number | string): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
