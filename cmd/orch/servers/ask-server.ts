/** Asks API servers how they are. */
import type { Clock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { staticTls } from '#http/client/credentials.js';

/**
 * `ready`: it does its work. `there`: it answers that it cannot, such as while its store chooses a leader. `silent`: it does
 * not answer in time, or cannot prove by the cluster's authority who it is.
 */
export type ServerState = 'ready' | 'there' | 'silent';

/** By `host:port`. Never rejects. */
export type AskServer = (server: string) => Promise<ServerState>;

const answerMs = 1200;

/** @param ca PEM of the cluster's authority. */
export function askServers({ ca, clock }: { readonly ca: string; readonly clock: Clock }): AskServer {
  return async (server) => {
    const transport = new HttpTransport({ server: `https://${server}`, tls: staticTls({ ca }), clock });
    try {
      const signal = AbortSignal.timeout(answerMs);
      const { status, body } = await transport.request({ method: 'GET', path: '/readyz', headers: {}, signal });
      for await (const _ of body);
      return status === 200 ? 'ready' : 'there';
    } catch {
      // Cut off, refused, or somebody else.
      return 'silent';
    } finally {
      await transport.close();
    }
  };
}

const ranks: Readonly<Record<ServerState, number>> = { silent: 0, there: 1, ready: 2 };

/** The server to go to instead of one in that state: the first of the best, if one is better. Pure. */
export function heirOf(state: ServerState, others: readonly (readonly [string, ServerState])[]): string | undefined {
  const better = others.filter(([, other]) => ranks[other] > ranks[state]);
  return better.sort(([, a], [, b]) => ranks[b] - ranks[a])[0]?.[0];
}
