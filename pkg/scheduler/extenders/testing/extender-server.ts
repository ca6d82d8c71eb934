/** An extender for tests: a real server with answers from the test. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { HttpExtender } from '#scheduler/extenders/http-extender.js';
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';

/** The parts of the scheduler's request that tests check. */
export interface Question {
  readonly Pod: { readonly metadata: { readonly name: string } };
  readonly Nodes: { readonly items: readonly { readonly metadata: { readonly name: string } }[] } | null;
  readonly NodeNames: readonly string[] | null;
  readonly [field: string]: unknown;
}

/** Returns the JSON answer, or responds itself and returns undefined. */
export type Verb = (question: Question, response: ServerResponse) => unknown;

export interface ExtenderServer {
  readonly url: string;
  /** `verb podName`, in order of arrival. */
  readonly calls: string[];
}

/** `tls`: serve HTTPS. */
export async function extenderServer(
  t: Test,
  verbs: Readonly<Record<string, Verb>>,
  tls?: ServerOptions,
): Promise<ExtenderServer> {
  const calls: string[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const question = JSON.parse(String(Buffer.concat(chunks))) as Question & { readonly PodName?: string };
    const verb = request.url?.split('/').at(-1) ?? '';
    calls.push(`${verb} ${question.PodName ?? question.Pod.metadata.name}`);
    const answer = await verbs[verb]?.(question, response);
    if (answer !== undefined) response.end(JSON.stringify(answer));
  };
  const handler = (...args: Parameters<typeof listener>) => void listener(...args).catch(() => undefined);
  const server: Server = tls === undefined ? createServer(handler) : createTlsServer(tls, handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const scheme = tls === undefined ? 'http' : 'https';
  return { url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/x`, calls };
}

export const defaults: Omit<ExtenderSettings, 'urlPrefix'> = {
  filterVerb: undefined,
  prioritizeVerb: undefined,
  preemptVerb: undefined,
  bindVerb: undefined,
  weight: 1,
  enableHttps: false,
  tls: undefined,
  timeoutMs: 30_000,
  nodeCacheCapable: true,
  managedResources: [],
  ignorable: false,
};

export function extenderAt(t: Test, urlPrefix: string, settings: Partial<ExtenderSettings>): HttpExtender {
  const extender = new HttpExtender({ ...defaults, ...settings, urlPrefix }, { clock: realClock, env: {} });
  t.teardown(() => extender.close());
  return extender;
}
