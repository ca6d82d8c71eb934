/** Upgraded connections: exec, attach and port-forward. */
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { createWebSocketStream, type WebSocket } from 'ws';
import type { Pod } from '#api/core/v1/types.gen.js';
import {
  badRequest,
  internalError,
  methodNotAllowed,
  pathNotFound,
  type StatusError,
  statusOf,
} from '#apimachinery/errors/status.js';
import type { Upgrade } from '#daemon/serving/daemon-server.js';
import type { RequestTarget } from '#daemon/serving/request-target.js';
import { protocolVersionHeader, spdyUpgrade, tunnelledPortForwardProtocol } from '#daemon/streaming/protocols.js';
import { endWithResponse, type RawResponse, statusResponse, switchProtocols } from '#daemon/streaming/raw-response.js';
import { isRunning, newestContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { ServedNode, ServedPods } from '#nodeagent/server/agent-server.js';
import { podOnNode } from '#nodeagent/server/log-route.js';
import {
  type CommandConnection,
  type RequestedStreams,
  requestedStreams,
  serveCommand,
} from '#nodeagent/streaming/command.js';
import { SessionConnection } from '#nodeagent/streaming/session-connection.js';
import { openSpdyCommand } from '#nodeagent/streaming/spdy-command.js';
import { type Negotiated, negotiate, UpgradeRefused, WebSocketUpgrader } from '#nodeagent/streaming/upgrade.js';
import { openWebSocketCommand } from '#nodeagent/streaming/web-socket-command.js';
import { forwardChannels, forwardedPorts } from '#nodeagent/streaming/web-socket-port-forward.js';

export interface SessionsOptions {
  readonly node: Pick<ServedNode, 'clock' | 'log' | 'cri' | 'observer'>;
  readonly pods: Pick<ServedPods, 'find'>;
  /** Idle limit of sessions; 0: no limit. */
  readonly idleTimeoutMs: number;
}

type Target =
  | { readonly kind: 'exec' | 'attach'; readonly pod: Pod; readonly container: string }
  | { readonly kind: 'portForward'; readonly pod: Pod };

type CommandTarget = Extract<Target, { kind: 'exec' | 'attach' }>;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #stop = new AbortController();
  readonly #sockets = new Set<Duplex>();
  readonly #webSockets = new WebSocketUpgrader();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Takes over the connection; invalid requests get their Status. */
  upgrade(upgrade: Upgrade): void {
    const { target, socket } = upgrade;
    this.#accept(upgrade).catch((error: unknown) => {
      this.#options.node.log.debug({ err: error, path: target.path }, 'session rejected');
      // After the upgrade, the client could not read a response.
      if (this.#sockets.has(socket)) socket.destroy();
      else endWithResponse(socket, answerTo(error));
    });
  }

  /** The response to a session request without an upgrade; other errors of the request come first. */
  refusal(requested: RequestTarget): RawResponse {
    try {
      const target = this.#target(requested);
      if (target.kind === 'portForward') this.#sandbox(target.pod);
      else {
        requestedStreams(requested.query);
        this.#runningContainer(target);
      }
      throw new UpgradeRefused(500, 'Upgrade request required');
    } catch (error) {
      return answerTo(error);
    }
  }

  async #accept(upgrade: Upgrade): Promise<void> {
    const target = this.#target(upgrade.target);
    if (target.kind === 'portForward') await this.#portForward(upgrade, target.pod);
    else await this.#command(upgrade, target);
  }

  /** `/exec/{ns}/{pod}/[{uid}/]{container}`, `/attach/…`, `/portForward/{ns}/{pod}[/{uid}]`, by GET or POST. */
  #target({ method, segments }: RequestTarget): Target {
    const [kind, namespace = '', name = '', ...rest] = segments;
    const uids = kind === 'portForward' ? rest.length : rest.length - 1;
    if ((kind !== 'exec' && kind !== 'attach' && kind !== 'portForward') || uids < 0 || uids > 1) throw pathNotFound();
    if (method !== 'GET' && method !== 'POST') throw methodNotAllowed({ group: '', resource: 'pods' }, method);
    const pod = podOnNode(this.#options.pods, { namespace, name, uid: uids === 1 ? rest[0] : undefined });
    return kind === 'portForward' ? { kind, pod } : { kind, pod, container: rest.at(-1) ?? '' };
  }

  #runningContainer(target: CommandTarget): string {
    const { metadata } = target.pod;
    const runtime = this.#options.node.observer.get(metadata.uid ?? '');
    const status = runtime === undefined ? undefined : newestContainer(runtime, target.container);
    if (status === undefined || !isRunning(status)) {
      throw badRequest(`container ${target.container} not found in pod ${metadata.name}_${metadata.namespace}`);
    }
    return status.id;
  }

  /** Wraps the socket as a session's, which owns it from now on. */
  #connection(socket: Duplex): SessionConnection {
    const { node, idleTimeoutMs } = this.#options;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return new SessionConnection({ socket, clock: node.clock, idleTimeoutMs });
  }

  async #command(upgrade: Upgrade, target: CommandTarget): Promise<void> {
    const { cri } = this.#options.node;
    const { query } = upgrade.target;
    const streams = requestedStreams(query);
    const containerId = this.#runningContainer(target);
    const negotiated = negotiate(upgrade.request.headers, target.kind);
    const connection = await this.#openCommand(upgrade, streams, negotiated);
    if (connection === undefined) return;
    const cmd = query.getAll('command');
    await serveCommand({
      kind: target.kind,
      connection,
      tty: streams.tty,
      signal: this.#stop.signal,
      run: async (sessionStreams) => {
        if (target.kind === 'exec') return cri.exec({ containerId, cmd }, sessionStreams);
        await cri.attach(containerId, sessionStreams);
        return 0;
      },
    });
  }

  /** Undefined if the client disconnected or sent an invalid handshake. */
  async #openCommand(
    upgrade: Upgrade,
    streams: RequestedStreams,
    negotiated: Negotiated,
  ): Promise<CommandConnection | undefined> {
    const { protocol } = negotiated;
    const connection = this.#connection(upgrade.socket);
    if (negotiated.transport === 'spdy') {
      switchToSpdy(upgrade, protocol);
      return openSpdyCommand(connection, streams, protocol, this.#options.node.clock);
    }
    const socket = await this.#webSockets.accept(upgrade, protocol);
    return socket === undefined ? undefined : openWebSocketCommand(connection, socket, streams, protocol);
  }

  async #portForward(upgrade: Upgrade, pod: Pod): Promise<void> {
    const { request, socket, target } = upgrade;
    const { transport, protocol } = negotiate(request.headers, 'portForward');
    const byChannels = transport === 'webSocket' && protocol !== tunnelledPortForwardProtocol;
    const ports = byChannels ? forwardedPorts(target.query) : [];
    // Called before the upgrade, so that a failure still has a status code.
    const runtime = await this.#options.node.cri.portForward(this.#sandbox(pod));
    // The runtime may close before the streams are piped.
    runtime.on('error', () => runtime.destroy());
    if (socket.destroyed) {
      runtime.destroy();
      return;
    }
    socket.once('close', () => runtime.destroy());
    const connection = this.#connection(socket);
    if (transport === 'spdy') {
      switchToSpdy(upgrade, protocol);
      joinBytes(connection, runtime);
      return;
    }
    const webSocket = await this.#webSockets.accept(upgrade, protocol);
    if (webSocket === undefined) return;
    if (byChannels) forwardChannels(connection, webSocket, runtime, { ports, protocol });
    else joinWebSocket(connection, webSocket, runtime);
  }

  #sandbox(pod: Pod): string {
    const sandbox = this.#options.node.observer.get(pod.metadata.uid ?? '')?.sandboxes[0];
    if (sandbox?.state !== 'SANDBOX_READY') throw badRequest(`pod ${pod.metadata.name} is not running`);
    return sandbox.id;
  }

  close(): void {
    this.#stop.abort();
    for (const socket of this.#sockets) socket.destroy();
    this.#webSockets.close();
  }
}

function answerTo(error: unknown): RawResponse {
  if (error instanceof UpgradeRefused) {
    const { code, headers, message } = error;
    return { code, headers, contentType: 'text/plain; charset=utf-8', body: `${message}\n` };
  }
  return statusResponse(statusOf(error) === undefined ? internalError(error) : (error as StatusError));
}

function switchToSpdy({ socket, head }: Upgrade, protocol: string): void {
  switchProtocols(socket, {
    Upgrade: spdyUpgrade,
    ...(protocol === '' ? {} : { [protocolVersionHeader]: protocol }),
  });
  if (head.length > 0) socket.unshift(head);
}

/** Copies bytes in both directions, since client and runtime speak the same protocol. */
function joinBytes(connection: SessionConnection, runtime: Duplex): void {
  const { socket, touch } = connection;
  connection.watchPeer();
  for (const [from, to] of [
    [socket, runtime],
    [runtime, socket],
  ] as const) {
    from.on('data', touch);
    from.pipe(to);
  }
  runtime.once('close', () => {
    // Send the runtime's last data before closing.
    if (!socket.writableEnded) socket.end();
    connection.linger();
  });
}

/** Copies bytes in both directions, inside WebSocket messages. */
function joinWebSocket(connection: SessionConnection, webSocket: WebSocket, runtime: Duplex): void {
  const stream = createWebSocketStream(webSocket, { allowHalfOpen: false });
  stream.on('data', connection.touch);
  runtime.on('data', connection.touch);
  connection.keepAsking(() => webSocket.ping());
  pipeline(stream, runtime, stream, () => {
    webSocket.close();
    connection.linger();
  });
}
