import { randomPort } from '#cluster/process/ports.js';

/** A free loopback port outside the range of outgoing connections. */
export async function freePort(): Promise<number> {
  return randomPort('127.0.0.1', Math.random);
}

/** Several different free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
