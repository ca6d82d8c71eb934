import { hostPort } from '#apimachinery/net/host-port.js';

/** A port of a Service of the cluster. */
export interface ServicePlace {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface Address {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with brackets around IPv6 addresses. */
export function authority({ host, port }: Address): string {
  return hostPort(host, port);
}
