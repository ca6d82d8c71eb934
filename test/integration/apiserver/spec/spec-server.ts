/** API servers over a real etcd, and an HTTPS client, for the tests of the specification. */
import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';
import { runServer, type StartOptions } from '#test/integration/apiserver/server.js';

/** Options of `t.test`: skips the test without an etcd. */
export const withEtcd = { skip: existsSync('/usr/bin/etcd') ? false : 'no etcd on this machine', timeout: 120_000 };

export const dialect = kubernetesDialect;
export const jsonPatch = { 'content-type': 'application/json-patch+json' };
export const mergePatch = { 'content-type': 'application/merge-patch+json' };
export const strategicPatch = { 'content-type': 'application/strategic-merge-patch+json' };
export const applyPatch = { 'content-type': 'application/apply-patch+yaml' };

/** A response with its body as received. */
export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly json: any;
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  /** Objects are sent as JSON. */
  readonly body?: unknown;
}

export interface WatchedEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly object: any;
}

/** A watch over HTTP/1.1, read as JSON lines. */
class Watch {
  readonly events: WatchedEvent[] = [];
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly status: number;
  readonly #close: () => void;
  readonly #incoming: IncomingMessage;
  #ended = false;
  #wake: () => void = () => undefined;
  #rest = '';

  constructor(incoming: IncomingMessage, close: () => void) {
    this.#incoming = incoming;
    this.status = incoming.statusCode ?? 0;
    this.headers = incoming.headers;
    this.#close = close;
  }

  /** Resolves with all events once there are this many; rejects if the watch ends before. */
  async until(count: number): Promise<readonly WatchedEvent[]> {
    while (this.events.length < count) {
      if (this.#ended) throw new Error(`the watch ended after ${this.events.length} of ${count} events`);
      await this.#change();
    }
    return this.events;
  }

  /** Resolves with all events when the server ends the watch. */
  async end(): Promise<readonly WatchedEvent[]> {
    while (!this.#ended) await this.#change();
    return this.events;
  }

  close(): void {
    this.#close();
  }

  /** Stops reading, like a client that hangs. */
  pause(): void {
    this.#incoming.pause();
  }

  resume(): void {
    this.#incoming.resume();
  }

  push(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.events.push(JSON.parse(line));
    this.#wake();
  }

  finish(): void {
    this.#ended = true;
    this.#wake();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** A client of one server with persistent connections. */
export class SpecClient {
  readonly port: number;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(port: number) {
    this.port = port;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.ask('GET', path, { headers });
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.ask('POST', path, { body, headers });
  }

  put(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.ask('PUT', path, { body, headers });
  }

  patch(path: string, headers: Readonly<Record<string, string>>, body: unknown): Promise<Response> {
    return this.ask('PATCH', path, { body, headers });
  }

  delete(path: string, body?: unknown): Promise<Response> {
    return this.ask('DELETE', path, body === undefined ? {} : { body });
  }

  /** A POST that must succeed. */
  async make(path: string, body: unknown): Promise<Response['json']> {
    const { status, text, json } = await this.post(path, body);
    if (status !== 201) throw new Error(`POST ${path} gave ${status}: ${text}`);
    return json;
  }

  ask(method: string, path: string, { headers = {}, body }: Ask = {}): Promise<Response> {
    return new Promise((resolve, reject) => {
      const text =
        body === undefined || Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
      const type = body === undefined || Buffer.isBuffer(body) ? {} : { 'content-type': 'application/json' };
      const length = text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) };
      const outgoing = this.#request(method, path, { ...type, ...length, ...headers });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const bytes = Buffer.concat(parts);
          const flat = Object.fromEntries(
            Object.entries(incoming.headers).map(([k, v]) => [k, Array.isArray(v) ? v.join(', ') : v]),
          );
          resolve({ status: incoming.statusCode ?? 0, headers: flat, bytes, ...parsed(flat, bytes) });
        });
      });
      outgoing.end(text);
    });
  }

  /** Resolves with the headers. */
  watch(t: Pick<Test, 'teardown'>, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Watch> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#request('GET', path, headers);
      t.teardown(() => void outgoing.destroy());
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const watch = new Watch(incoming, () => void outgoing.destroy());
        incoming.setEncoding('utf8').on('data', (text: string) => watch.push(text));
        // Destroying it causes an error, which ends it, too.
        incoming.on('error', () => watch.finish());
        incoming.on('end', () => watch.finish());
        resolve(watch);
      });
      outgoing.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(method: string, path: string, headers: Readonly<Record<string, string>>) {
    const { port } = this;
    return request({ host: '127.0.0.1', port, path, method, headers, agent: this.#agent, rejectUnauthorized: false });
  }
}

function parsed(headers: Response['headers'], bytes: Buffer): Pick<Response, 'text' | 'json'> {
  const text = bytes.toString();
  if (headers['content-type'] !== 'application/json' || headers['content-encoding'] !== undefined) {
    return { text, json: undefined };
  }
  try {
    return { text, json: JSON.parse(text) };
  } catch {
    // A stream of several documents.
    return { text, json: undefined };
  }
}

export interface SpecServer {
  readonly server: ApiServer;
  readonly client: SpecClient;
}

/** A server over that etcd; closed with the test. */
export async function serveOver(t: Test, etcd: TestEtcd, options: StartOptions = {}): Promise<SpecServer> {
  const store = openStore(etcd);
  const { server, stop } = await runServer({ ...options, store, https: true });
  const client = new SpecClient(server.address?.port ?? 0);
  t.teardown(async () => {
    client.close();
    await stop();
    await store.close();
  });
  return { server, client };
}

export function openStore(etcd: TestEtcd): EtcdStore {
  return new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
}

/** Compacts etcd's history to the present. Servers started afterwards do not know the past. */
export async function forgetHistory(etcd: TestEtcd): Promise<void> {
  const store = openStore(etcd);
  await store.compact(await store.currentRevision());
  await store.close();
}

/** An etcd with a server; both are closed with the test. */
export async function startSpec(t: Test, options: StartOptions = {}): Promise<SpecServer & { etcd: TestEtcd }> {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  return { ...(await serveOver(t, etcd, options)), etcd };
}

/** Path of the config maps of a namespace. */
export const configMaps = (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`;

export const configMap = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

/** Names of a list's items. */
export const namesOf = (list: { items: { metadata: { name: string } }[] }): string[] =>
  list.items.map(({ metadata }) => metadata.name);
