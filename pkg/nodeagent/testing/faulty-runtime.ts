/**
 * A gRPC proxy in front of a container runtime that injects faults for tests: calls hang, are delayed, rejected, lose
 * their answer, or are answered wrongly. Calls without a fault and streams pass unchanged.
 */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectSocket, createServer as createSocketServer, type Socket } from 'node:net';
import protobuf from 'protobufjs';
import type { Message } from '#nodeagent/grpc/channel.js';
import { runtimeV1 } from '#nodeagent/protocols/runtime-v1.gen.js';

export type Fault =
  /** The call is never answered. */
  | { readonly type: 'hang' }
  | { readonly type: 'delay'; readonly ms: number }
  /** The runtime never gets the call. */
  | { readonly type: 'refuse'; readonly code: number; readonly message?: string }
  /** The runtime executes the call, but the caller gets an error, or without a code a closed connection. */
  | { readonly type: 'lose'; readonly code?: number }
  /** The connection closes before the runtime gets the call. */
  | { readonly type: 'reset' }
  /** Messages that replace the runtime's answer. */
  | { readonly type: 'answer'; readonly with: (answer: Buffer) => readonly Buffer[] }
  /** The runtime never gets the call; the test writes to the stream. */
  | { readonly type: 'raw'; readonly speak: (stream: ServerHttp2Stream) => void };

/** The fault of a call, by method name, such as `RunPodSandbox`. */
export type Faults = (method: string) => Fault | undefined;

const statusUnavailable = 14;
const prefixBytes = 5;
const contentType = 'application/grpc';

/** Starts the proxy in front of the runtime's socket; stops it after the test. */
export async function startFaultyRuntime(
  t: { teardown(fn: () => unknown): void },
  { target, socket }: { readonly target: string; readonly socket: string },
): Promise<FaultyRuntime> {
  const proxy = new FaultyRuntime(target);
  t.teardown(() => proxy.stop());
  await proxy.listen(socket);
  return proxy;
}

export class FaultyRuntime {
  readonly #target: string;
  /** Allows answers that are too large. */
  readonly #http2 = createServer({ maxSessionMemory: 1000 });
  readonly #listener = createSocketServer((socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #root = protobuf.Root.fromJSON(runtimeV1);
  readonly #calls = new Map<string, number>();
  #upstream: ClientHttp2Session | undefined;
  #isFrozen = false;
  #faults: Faults = () => undefined;

  constructor(target: string) {
    this.#target = target;
    this.#http2.on('session', (session) => {
      this.#sessions.add(session);
      session.on('error', () => undefined);
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#http2.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      this.#serve(stream, headers).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    });
  }

  async listen(socket: string): Promise<void> {
    this.#listener.listen(socket);
    await once(this.#listener, 'listening');
  }

  /** Sets the faults of new calls. Running calls are not affected. */
  fail(faults: Faults): void {
    this.#faults = faults;
  }

  /** Ends all faults; new connections are accepted again. */
  recover(): void {
    this.#isFrozen = false;
    this.#faults = () => undefined;
  }

  /** Simulates a stopped process: connections stay open, but nothing is answered. */
  freeze(): void {
    this.#isFrozen = true;
    this.#faults = () => ({ type: 'hang' });
  }

  /** Closes all connections. */
  cut(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Number of calls of a method so far. */
  calls(method: string): number {
    return this.#calls.get(method) ?? 0;
  }

  /** A fault that changes the decoded answer of a method. Enums are numbers in it, 64-bit numbers strings. */
  lie(method: string, change: (answer: Message) => Message): Fault {
    const service = method.includes('Image') ? 'ImageService' : 'RuntimeService';
    const declared = this.#root.lookupService(`runtime.v1.${service}`).methods[method];
    if (declared === undefined) throw new RangeError(`no method ${method}`);
    const type = this.#root.lookupType(`runtime.v1.${declared.responseType}`);
    return {
      type: 'answer',
      with: (answer) => {
        const decoded = type.toObject(type.decode(answer), { longs: String, defaults: true });
        return [Buffer.from(type.encode(type.fromObject(change(decoded))).finish())];
      },
    };
  }

  async stop(): Promise<void> {
    this.#listener.close();
    this.cut();
    this.#upstream?.destroy();
    await once(this.#listener, 'close');
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    if (!this.#isFrozen) this.#http2.emit('connection', socket);
  }

  async #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const method = headers[':path']?.split('/').at(-1) ?? '';
    this.#calls.set(method, this.calls(method) + 1);
    const fault = this.#faults(method);
    switch (fault?.type) {
      case undefined:
        return this.#pass(stream, headers);
      case 'hang':
        return;
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, fault.ms));
        return this.#pass(stream, headers);
      case 'refuse':
        return refuse(stream, fault.code, fault.message ?? `refused with ${fault.code}`);
      case 'reset':
        return stream.session?.destroy();
      case 'lose':
        await this.#whole(stream, headers);
        return fault.code === undefined ? stream.session?.destroy() : refuse(stream, fault.code, 'lost');
      case 'answer':
        return answer(stream, fault.with(await this.#whole(stream, headers)));
      case 'raw':
        return fault.speak(stream);
      default:
        return fault satisfies never;
    }
  }

  #open(headers: IncomingHttpHeaders): ClientHttp2Stream {
    if (this.#upstream === undefined || this.#upstream.closed || this.#upstream.destroyed) {
      this.#upstream = connect('http://localhost', { createConnection: () => connectSocket(this.#target) });
      this.#upstream.on('error', () => undefined);
    }
    const { ':path': path, 'grpc-timeout': timeout } = headers;
    const fields = { ':method': 'POST', ':path': path, 'content-type': contentType, te: 'trailers' };
    return this.#upstream.request(timeout === undefined ? fields : { ...fields, 'grpc-timeout': timeout });
  }

  #pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    if (stream.destroyed) return;
    const upstream = this.#open(headers);
    let trailers: Record<string, string> = {};
    upstream.on('response', (response) => {
      if (stream.destroyed) return;
      const status = response['grpc-status'];
      if (status !== undefined) return refuse(stream, Number(status), String(response['grpc-message'] ?? ''));
      stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      upstream.on('trailers', (fields) => {
        trailers = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
      });
      upstream.pipe(stream, { end: false });
      // The stream closes after its trailers.
      upstream.on('close', () => stream.end());
    });
    upstream.on('error', () => {
      if (!stream.destroyed && !stream.headersSent) refuse(stream, statusUnavailable, 'the runtime is gone');
      else stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.on('close', () => upstream.close(constants.NGHTTP2_CANCEL));
    stream.pipe(upstream);
  }

  /** Executes the call, and resolves with its answer; empty if it failed. */
  async #whole(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<Buffer> {
    const upstream = this.#open(headers);
    stream.pipe(upstream);
    const parts: Buffer[] = [];
    try {
      for await (const part of upstream) parts.push(part as Buffer);
    } catch {
      // There is no runtime, or it has stopped.
      return Buffer.alloc(0);
    }
    return Buffer.concat(parts).subarray(prefixBytes);
  }
}

function refuse(stream: ServerHttp2Stream, code: number, message: string): void {
  if (stream.destroyed || stream.headersSent) return;
  const fields = { ':status': 200, 'content-type': contentType, 'grpc-status': String(code), 'grpc-message': message };
  stream.respond(fields, { endStream: true });
}

function answer(stream: ServerHttp2Stream, messages: readonly Buffer[]): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  for (const message of messages) {
    const prefix = Buffer.alloc(prefixBytes);
    prefix.writeUInt32BE(message.length, 1);
    stream.write(Buffer.concat([prefix, message]));
  }
  stream.end();
}
