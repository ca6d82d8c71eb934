/** Asks an API server whether it can do its work. */
import type { Clock } from '#apimachinery/clock.js';
import { staticTls } from '#client/http/credentials.js';
import { HttpTransport } from '#client/rest/http-transport.js';

/** Whether a server, by `host:port`, is ready: within its time, and proven by the cluster's authority. Never rejects. */
export type AskReady = (server: string) => Promise<boolean>;

const answerMs = 1200;

/** @param ca PEM of the cluster's authority. */
export function askReady({ ca, clock }: { readonly ca: string; readonly clock: Clock }): AskReady {
  return async (server) => {
    const transport = new HttpTransport({ server: `https://${server}`, tls: staticTls({ ca }), clock });
    try {
      const signal = AbortSignal.timeout(answerMs);
      const { status, body } = await transport.request({ method: 'GET', path: '/readyz', headers: {}, signal });
      for await (const _ of body);
      return status === 200;
    } catch {
      // Cut off, refused, or somebody else: not one that can be used.
      return false;
    } finally {
      await transport.close();
    }
  };
}
