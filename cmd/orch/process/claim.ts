import { createServer } from 'node:net';

/**
 * Whether the name was free on this machine; it is then this process's for as long as it runs. An abstract socket stands
 * for it: it belongs to one process at a time, and goes with it.
 */
export function claimName(name: string): Promise<boolean> {
  const socket = createServer().unref();
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.listen(`\0${name}`, () => resolve(true));
  });
}
