import { readFileSync } from 'node:fs';

/**
 * Bytes that the system takes at most for both ends of one connection, whether somebody reads them or not (tcp(7)). Kernels
 * differ several times in it.
 */
export function mostBufferedBytes(): number {
  return most('tcp_rmem') + most('tcp_wmem');
}

function most(setting: string): number {
  const [, , bytes] = readFileSync(`/proc/sys/net/ipv4/${setting}`, 'utf8').trim().split(/\s+/);
  return Number(bytes);
}
