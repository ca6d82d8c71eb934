import { randomPort } from '#cmd/orch/context/settings.js';

/** A port of the loopback that was free a moment ago. None of those that outgoing connections are given. */
export async function freePort(): Promise<number> {
  return randomPort('127.0.0.1', Math.random);
}

/** The same of several, which differ. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
