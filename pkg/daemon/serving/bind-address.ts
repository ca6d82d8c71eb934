import { canonicalAddress } from '#apimachinery/net/ip.js';

/** `0.0.0.0:10256`, `[::]:10256`; undefined for what is neither. */
export function bindAddress(text: string): { readonly address: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})$/i.exec(text);
  const address = canonicalAddress(match?.[1] ?? match?.[2] ?? '');
  const port = Number(match?.[3]);
  return address === undefined || !(port <= 65_535) ? undefined : { address, port };
}
