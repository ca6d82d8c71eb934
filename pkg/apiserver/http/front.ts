/** Where an API server's requests come from. */
import type { AddressInfo } from 'node:net';
import type { TLSMaterial } from '#apiserver/http/server.js';

export interface Front {
  /** Resolves with the address once clients can connect. */
  listen(): Promise<AddressInfo>;
  /** New connections use the new certificate, key and authorities. */
  reloadTLS(tls: TLSMaterial): void;
  /** The server has been told to stop, and serves on for a while. */
  leaving?(): void;
  /** Stops accepting, lets requests under way end for at most `graceMs`, then cuts what is left. */
  close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void>;
}
