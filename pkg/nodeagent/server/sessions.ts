/** Upgraded connections: exec, attach and port-forward. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import type { Pod } from '#api/core/v1/types.gen.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { badRequest, internalError, type StatusError, statusOf } from '#apimachinery/errors/status.js';
import type { PodContext } from '#nodeagent/pods/context.js';
import type { PodManager } from '#nodeagent/pods/manager.js';
import { isRunning, newestContainer } from '#nodeagent/runtime/pod-runtime.js';
import { podOnNode } from '#nodeagent/server/log-route.js';
import { serveRemoteCommand, wantedStreams } from '#nodeagent/server/remote-command.js';

/** Names of the protocols: those of every client, whatever the cluster's dialect. */
const domain = kubernetesDialect.apiDomain;
const remoteCommandProtocols = [`v5.channel.${domain}`, `v4.channel.${domain}`];
const portForwardProtocol = `SPDY/3.1+portforward.${domain}`;
/** Largest message that a client may send. */
const maxMessageBytes = 32 * 1024 * 1024;

export interface SessionsOptions {
  readonly context: PodContext;
  readonly pods: PodManager;
  /** Sessions that are silent for so long are ended; 0 has no limit. */
  readonly idleTimeoutMs: number;
}

type Target =
  | { readonly kind: 'exec' | 'attach'; readonly pod: Pod; readonly container: string }
  | { readonly kind: 'portForward'; readonly pod: Pod };

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #stop = new AbortController();
  readonly #sockets = new Set<Duplex>();
  readonly #chosen = new WeakMap<IncomingMessage, string>();
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  });

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#server.on('headers', (headers, request) => {
      headers.push(`Sec-WebSocket-Protocol: ${this.#chosen.get(request)}`);
    });
  }

  /** Takes over the connection; requests that are wrong are answered with their Status. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#accept(request, socket, head).catch((error: unknown) => {
      this.#options.context.log.debug({ err: error, path: request.url }, 'Session refused');
      const known = statusOf(error) === undefined ? internalError(error) : (error as StatusError);
      const body = JSON.stringify(known.status);
      socket.end(
        `HTTP/1.1 ${known.code} Refused\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    });
  }

  async #accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = new URL(request.url ?? '/', 'https://localhost');
    const target = this.#target(url);
    const command =
      target.kind === 'portForward' ? undefined : { kind: target.kind, id: this.#runningContainer(target) };
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim());
    const accepted = target.kind === 'portForward' ? [portForwardProtocol] : remoteCommandProtocols;
    if ((request.headers.upgrade ?? '').toLowerCase() !== 'websocket' || !accepted.some((p) => offered.includes(p))) {
      throw badRequest(`unable to upgrade: this server speaks WebSocket with ${accepted.join(' or ')}`);
    }
    // Asked for before the upgrade, so that a failure still has a status code.
    const forwarded = target.kind === 'portForward' ? await this.#forward(target.pod) : undefined;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#limitIdleTime(socket);
    // The WebSocket library refuses the slash in the port-forward protocol's name, so the choice is made here.
    delete request.headers['sec-websocket-protocol'];
    this.#chosen.set(request, accepted.find((protocol) => offered.includes(protocol)) ?? '');
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      if (forwarded !== undefined) {
        const stream = createWebSocketStream(ws, { allowHalfOpen: false });
        pipeline(stream, forwarded, stream, () => ws.close());
      } else if (command !== undefined) void this.#command(ws, url, command.kind, command.id);
    });
  }

  #limitIdleTime(socket: Duplex): void {
    const { idleTimeoutMs } = this.#options;
    if (idleTimeoutMs > 0 && 'setTimeout' in socket && typeof socket.setTimeout === 'function') {
      socket.setTimeout(idleTimeoutMs, () => socket.destroy());
    }
  }

  /** `/exec/{ns}/{pod}/[{uid}/]{container}`, `/attach/…`, `/portForward/{ns}/{pod}[/{uid}]`. */
  #target(url: URL): Target {
    const [kind, namespace = '', name = '', ...rest] = url.pathname.split('/').slice(1).map(decodeURIComponent);
    const pod = podOnNode(this.#options.pods, namespace, name);
    if (kind === 'portForward') return { kind, pod };
    if (kind !== 'exec' && kind !== 'attach') throw badRequest(`no sessions at ${url.pathname}`);
    return { kind, pod, container: rest.at(-1) ?? '' };
  }

  #runningContainer(target: Extract<Target, { kind: 'exec' | 'attach' }>): string {
    const { metadata } = target.pod;
    const runtime = this.#options.context.observer.get(metadata.uid ?? '');
    const status = runtime === undefined ? undefined : newestContainer(runtime, target.container);
    if (status === undefined || !isRunning(status)) {
      throw badRequest(`container ${target.container} not found in pod ${metadata.name}_${metadata.namespace}`);
    }
    return status.id;
  }

  async #forward(pod: Pod): Promise<Duplex> {
    const { observer, cri } = this.#options.context;
    const sandbox = observer.get(pod.metadata.uid ?? '')?.sandboxes[0];
    if (sandbox?.state !== 'SANDBOX_READY') throw badRequest(`pod ${pod.metadata.name} is not running`);
    return cri.portForward(sandbox.id);
  }

  async #command(socket: WebSocket, url: URL, kind: 'exec' | 'attach', containerId: string): Promise<void> {
    const { cri } = this.#options.context;
    const cmd = url.searchParams.getAll('command');
    await serveRemoteCommand({
      socket,
      wanted: wantedStreams(url.searchParams),
      signal: this.#stop.signal,
      run: async (streams) => {
        if (kind === 'exec') return cri.exec({ containerId, cmd }, streams);
        await cri.attach(containerId, streams);
        return 0;
      },
    });
  }

  close(): void {
    this.#stop.abort();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
