/** Checks the readiness of API servers. */
import type { Clock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { staticTls } from '#http/client/credentials.js';

/**
 * `ready`: serves requests. `unready`: answers that it cannot serve, such as while etcd elects a leader. `silent`: does
 * not answer in time, or has no certificate of the cluster's authority.
 */
export type ServerState = 'ready' | 'unready' | 'silent';

/** Checks a server, `host:port`. Never rejects. */
export type CheckServer = (server: string) => Promise<ServerState>;

const answerMs = 1200;

/** @param ca PEM of the cluster's authority. */
export function serverChecker({ ca, clock }: { readonly ca: string; readonly clock: Clock }): CheckServer {
  return async (server) => {
    const transport = new HttpTransport({ server: `https://${server}`, tls: staticTls({ ca }), clock });
    try {
      const signal = AbortSignal.timeout(answerMs);
      const { status, body } = await transport.request({ method: 'GET', path: '/readyz', headers: {}, signal });
      for await (const _ of body);
      return status === 200 ? 'ready' : 'unready';
    } catch {
      // Unreachable, refused, or a foreign certificate.
      return 'silent';
    } finally {
      await transport.close();
    }
  };
}

const ranks: Readonly<Record<ServerState, number>> = { silent: 0, unready: 1, ready: 2 };

/** The server that replaces one in `state`: the first of the best others, if they are better. Pure. */
export function betterServer(
  state: ServerState,
  others: readonly (readonly [string, ServerState])[],
): string | undefined {
  const better = others.filter(([, other]) => ranks[other] > ranks[state]);
  return better.sort(([, a], [, b]) => ranks[b] - ranks[a])[0]?.[0];
}
