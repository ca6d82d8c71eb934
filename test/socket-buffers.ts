import { readFileSync } from 'node:fs';

/**
 * Upper bound of bytes in the system's buffers of one connection, read or not (tcp(7)). Kernels differ several times.
 */
export function mostBufferedBytes(): number {
  return most('tcp_rmem') + most('tcp_wmem');
}

function most(setting: string): number {
  const [, , bytes] = readFileSync(`/proc/sys/net/ipv4/${setting}`, 'utf8').trim().split(/\s+/);
  return Number(bytes);
}
