/** Sights of the agent's server. */
import { once } from 'node:events';
import { request } from 'node:https';
import { connect, type SecureVersion } from 'node:tls';
import { nodes } from '#api/core/v1/resources.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { standardServer } from '#nodeagent/server/standard-server.js';
import type { Sight } from '#nodeagent/testing/effects/effect.js';
import { withAgent } from '#nodeagent/testing/effects/node-sights.js';

interface Served {
  readonly port: number;
  /** Kinds of the reviews that the API server was asked for. */
  readonly reviews: readonly string[];
  /** The clock of the server. */
  readonly clock: VirtualClock;
}

/** Serves at a free port. `allowed`: the answer to access reviews. */
function whileServed<T>(look: (served: Served) => Promise<T>, allowed = true): Sight {
  return (values, dialect) => {
    const reviews: string[] = [];
    const clock = new VirtualClock();
    // Creating the server's key takes real time.
    const served = deferred<number>();
    return withAgent(
      { ...values, port: 0, 'read-only-port': 0, 'cert-dir': '' },
      dialect,
      async () => look({ port: await served.promise, reviews, clock }),
      {
        dependencies(api) {
          const client = new Proxy(api.client, {
            get(target, name) {
              if (name !== 'request') return Reflect.get(target, name, target);
              return async (_method: string, path: string) => {
                const kind = path.slice(path.lastIndexOf('/') + 1);
                reviews.push(kind);
                return { status: { allowed, authenticated: true, user: { username: 'kim', groups: [] } } };
              };
            },
          });
          const create = standardServer({
            ...{ client, dialect, clock, log: silentLogger, nodeName: 'node-1' },
            random: () => 0.5,
          });
          return {
            async server(input) {
              const server = await create(input);
              served.resolve(server.port);
              return server;
            },
          };
        },
      },
    );
  };
}

async function statusOf(port: number, host = '127.0.0.1'): Promise<number> {
  const call = request({ host, port, path: '/pods', rejectUnauthorized: false, agent: false, headers: bearer });
  call.end();
  try {
    const [response] = await once(call, 'response');
    response.resume();
    return response.statusCode ?? 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return 0;
    throw error;
  }
}

const bearer = { authorization: 'Bearer token' };

/** How many reviews of a kind two requests cause, ten seconds after each other. */
export function reviews(kind: string, allowed = true): Sight {
  return whileServed(async ({ port, reviews: all, clock }) => {
    await statusOf(port);
    await clock.advance(10_000);
    await statusOf(port);
    return all.filter((each) => each === kind).length;
  }, allowed);
}

/** The status of a request to the first loopback address; 0 if nothing listens there. */
export const loopbackStatus: Sight = whileServed(({ port }) => statusOf(port));

/** What a client of an older version of TLS gets: the version, or the failure. */
export function oldClient(maxVersion: SecureVersion): Sight {
  return whileServed(async ({ port }) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, maxVersion });
    try {
      await once(socket, 'secureConnect');
      return socket.getProtocol();
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    } finally {
      socket.destroy();
    }
  });
}

/** The port that the node reports for a server at 7777. */
export const reportedPort = (values: NodeAgentOptions, dialect: Dialect): Promise<unknown> =>
  withAgent(
    values,
    dialect,
    async ({ api, clock }) => {
      await clock.advance(2000);
      const [node] = api.list(nodes);
      return node?.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    },
    { dependencies: () => ({ server: async () => ({ port: 7777, close: async () => undefined }) }) },
  );
