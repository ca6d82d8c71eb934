/**
 * gRPC services on a unix socket, with reflected messages.
 *
 * Not by grpc-js: its HTTP/2 refuses the path of a socket as the authority of a request, and Go's clients have sent that
 * until 2023.
 */
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import type { Clock } from '#apimachinery/clock.js';
import { type RequestHead, ServerSession } from '#http/http2/server-session.js';
import type { ServerStream } from '#http/http2/server-stream.js';
import { CallError } from '#nodeagent/grpc/call-error.js';
import type { Message } from '#nodeagent/grpc/channel.js';
import { ServerCall, type ServerMethod } from '#nodeagent/grpc/server-call.js';
import { StrictReader } from '#nodeagent/grpc/strict-reader.js';

/** Answers a call; a CallError gives the client its code, other errors become `Unknown`, as in Go. */
type UnaryHandler = (request: Message) => Message | Promise<Message>;
/** Answers with messages until the iteration ends; `signal` aborts when the client cancels. */
type StreamHandler = (request: Message, signal: AbortSignal) => AsyncIterable<Message>;

export interface GrpcService {
  /** Such as `v1beta1.Registration`. */
  readonly name: string;
  /** By method name. */
  readonly unary?: Readonly<Record<string, UnaryHandler>>;
  readonly streams?: Readonly<Record<string, StreamHandler>>;
}

export interface GrpcServerOptions {
  readonly clock: Clock;
  /** A socket that a dead process left there is replaced. */
  readonly socket: string;
  readonly root: protobuf.Root;
  readonly services: readonly GrpcService[];
}

/** Bound what clients can use, together with the limit of a request's size. */
const maxConnections = 64;
const maxStreams = 32;
const maxHeaderBytes = 16 * 1024;
const streamWindowBytes = 64 * 1024;
const sessionWindowBytes = 256 * 1024;

export class GrpcServer {
  readonly #options: GrpcServerOptions;
  /** By path. */
  readonly #methods = new Map<string, ServerMethod>();
  readonly #sessions = new Set<ServerSession>();
  #server: Server | undefined;

  /** Throws RangeError for unknown methods. */
  constructor(options: GrpcServerOptions) {
    this.#options = options;
    for (const { name, unary = {}, streams = {} } of options.services) {
      for (const [method, handler] of Object.entries(unary))
        this.#define(name, method, async function* once(request) {
          yield await handler(request);
        });
      for (const [method, handler] of Object.entries(streams)) this.#define(name, method, handler);
    }
  }

  /** Resolves once the socket accepts connections. Throws if it cannot be created. */
  async start(): Promise<void> {
    const { socket } = this.#options;
    await rm(socket, { force: true });
    const server = createServer((connection) => this.#accept(connection));
    server.maxConnections = maxConnections;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socket, resolve);
    });
    server.unref();
    this.#server = server;
  }

  /** Ends all calls and removes the socket. */
  async close(): Promise<void> {
    if (this.#server === undefined) return;
    this.#server.close();
    this.#server = undefined;
    for (const session of this.#sessions) session.destroy(undefined);
    await rm(this.#options.socket, { force: true });
  }

  #accept(socket: Socket): void {
    // The end of the connection tells, too.
    socket.on('error', () => undefined);
    const session: ServerSession = new ServerSession({
      ...{ socket, clock: this.#options.clock, maxStreams, maxHeaderBytes, streamWindowBytes, sessionWindowBytes },
      handler: {
        request: (stream, head) => this.#serve(stream, head),
        closed: () => this.#sessions.delete(session),
      },
    });
    this.#sessions.add(session);
  }

  #serve(stream: ServerStream, { target, fields, tooLarge, invalid }: RequestHead): void {
    const { method, path = '' } = target;
    const type = fields.find(([name]) => name === 'content-type')?.[1] ?? '';
    const call = new ServerCall(stream, this.#methods.get(path));
    stream.handler = call;
    if (tooLarge) call.refuse(431);
    else if (invalid !== undefined || method !== 'POST') call.refuse(400);
    else if (!/^application\/grpc(?:[+;].*)?$/.test(type)) call.refuse(415);
    else if (stream.inputEnded) call.ended();
  }

  #define(service: string, method: string, handle: ServerMethod['handle']): void {
    const { root } = this.#options;
    const declared = root.lookupService(service).methods[method];
    if (declared === undefined) throw new RangeError(`no method ${service}/${method} in the descriptor`);
    const prefix = service.slice(0, service.lastIndexOf('.'));
    const request = root.lookupType(`${prefix}.${declared.requestType}`);
    const response = root.lookupType(`${prefix}.${declared.responseType}`);
    this.#methods.set(`/${service}/${method}`, {
      handle,
      encode: (value) => Buffer.from(response.encode(response.fromObject(value)).finish()),
      decode: (bytes) => decoded(request, bytes),
    });
  }
}

const plain = { longs: String, enums: String, defaults: true, arrays: true, objects: true };

/** Throws CallError. */
function decoded(type: protobuf.Type, bytes: Buffer): Message {
  try {
    return type.toObject(type.decode(new StrictReader(bytes)), plain);
  } catch (cause) {
    throw new CallError({ code: status.INTERNAL, message: 'the request cannot be decoded', cause });
  }
}
