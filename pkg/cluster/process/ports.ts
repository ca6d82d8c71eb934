/** Free ports of this machine. */
import { createServer } from 'node:net';

/** True when a listener can bind the port on this address. */
export function portIsFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Below ports of services and ephemeral ports: clients could get an ephemeral port while the listener restarts. */
const listeningPorts = { first: 20_000, count: 10_000 };

/**
 * A free port, reserved while this process runs: its listener may start later, and several clusters may start at once.
 * @param random Uniform in [0, 1).
 */
export async function randomPort(host: string, random: () => number): Promise<number> {
  for (;;) {
    const port = listeningPorts.first + Math.floor(random() * listeningPorts.count);
    if ((await claimPort(port)) && (await portIsFree(port, host))) return port;
  }
}

/**
 * The preferred port when it is free, else one from `randomPort`.
 * @param random Uniform in [0, 1).
 */
export async function choosePort(preferred: number, host: string, random: () => number): Promise<number> {
  return (await portIsFree(preferred, host)) ? preferred : randomPort(host, random);
}

/** A port that was free a moment ago. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: 0, host }, () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}

/** Reserves a name on this machine until the process ends, by an abstract socket; false when another process has it. */
export function claimName(name: string): Promise<boolean> {
  const socket = createServer().unref();
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.listen(`\0${name}`, () => resolve(true));
  });
}

/** Reserves a port among the clusters of this machine. */
export function claimPort(port: number): Promise<boolean> {
  return claimName(`orch-port-${port}`);
}
