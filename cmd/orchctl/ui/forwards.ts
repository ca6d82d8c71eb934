/** Ports of this machine that lead to ports of pods, as a page asks for them. */
import type { FastifyInstance } from 'fastify';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import { forwardPort } from '#cmd/orchctl/streams/port-forward.js';
import { plain } from '#daemon/serving/plain-http.js';

export interface ForwardedPort {
  readonly id: number;
  readonly namespace: string;
  readonly pod: string;
  readonly remote: number;
  readonly local: number;
  /** Of the last connection that failed. */
  readonly failure?: string;
}

interface Open {
  shown: ForwardedPort;
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

const maxForwards = 50;
/** Names as in the API, so that a path has no other parts. */
const name = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

export class Forwards {
  readonly #api: Api;
  readonly #signal: AbortSignal;
  readonly #open = new Map<number, Open>();
  #next = 1;

  constructor(api: Api, signal: AbortSignal) {
    this.#api = api;
    this.#signal = signal;
  }

  get all(): readonly ForwardedPort[] {
    return [...this.#open.values()].map(({ shown }) => shown);
  }

  /** Rejects if the pod cannot be reached. */
  async add(namespace: string, pod: string, remote: number): Promise<ForwardedPort> {
    if (this.#open.size >= maxForwards) throw new Error('too many ports are forwarded');
    const target = await this.#api.webSocket(`/api/v1/namespaces/${namespace}/pods/${pod}/portforward`);
    const stop = new AbortController();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const over = forwardPort({
        ...{ target, addresses: ['127.0.0.1'], local: 0, remote },
        signal: AbortSignal.any([stop.signal, this.#signal]),
        listening: (_address, local) => {
          const shown = { id, namespace, pod, remote, local };
          this.#open.set(id, { shown, stop, over });
          resolve(shown);
        },
        accepted: () => undefined,
        failed: (failure) => {
          const open = this.#open.get(id);
          if (open !== undefined) open.shown = { ...open.shown, failure };
        },
      }).catch((error: unknown) => reject(error instanceof Error ? error : new Error(messageOf(error))));
      void over.then(() => this.#open.delete(id));
    });
  }

  async end(id: number): Promise<void> {
    const open = this.#open.get(id);
    open?.stop.abort();
    await open?.over;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.end(id)));
  }
}

export function addForwards(app: FastifyInstance, forwards: Forwards): void {
  app.get('/ui/forwards', async () => ({ items: forwards.all }));
  app.post('/ui/forwards/:namespace/:pod/:port', async (request, reply) => {
    const { namespace = '', pod = '', port = '' } = request.params as Readonly<Record<string, string>>;
    const remote = Number(port);
    if (!name.test(namespace) || !name.test(pod) || !/^\d{1,5}$/.test(port) || remote < 1 || remote > 65_535)
      return plain(reply, 400, 'the path names no port of a pod\n');
    try {
      return await forwards.add(namespace, pod, remote);
    } catch (error) {
      return plain(reply, 502, `${messageOf(error)}\n`);
    }
  });
  app.delete('/ui/forwards/:id', async (request) => {
    await forwards.end(Number((request.params as { readonly id: string }).id));
    return { items: forwards.all };
  });
}
