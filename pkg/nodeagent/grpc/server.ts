/** gRPC services on a unix socket, with reflected messages. */
import { rm } from 'node:fs/promises';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import { messageOf } from '#apimachinery/errors/message.js';
import { CallError } from '#nodeagent/grpc/call-error.js';
import type { Message } from '#nodeagent/grpc/channel.js';
import { StrictReader } from '#nodeagent/grpc/strict-reader.js';

/** Answers a call; a CallError gives the client its code, other errors become `Unknown`, as in Go. */
export type UnaryHandler = (request: Message) => Message | Promise<Message>;
/** Answers with messages until the iteration ends; `signal` aborts when the client cancels. */
export type StreamHandler = (request: Message, signal: AbortSignal) => AsyncIterable<Message>;

export interface GrpcService {
  /** Such as `v1beta1.Registration`. */
  readonly name: string;
  /** By method name. */
  readonly unary?: Readonly<Record<string, UnaryHandler>>;
  readonly streams?: Readonly<Record<string, StreamHandler>>;
}

export interface GrpcServerOptions {
  /** A socket that a dead process left there is replaced. */
  readonly socket: string;
  readonly root: protobuf.Root;
  readonly services: readonly GrpcService[];
}

/** Go's limit. */
const maxMessageBytes = 4 * 1024 * 1024;
/** Bounds the calls of one connection at the same time; a client waits for its turn. */
const maxConcurrentStreams = 100;

type Implementation = UntypedServiceImplementation[string];

export class GrpcServer {
  readonly #options: GrpcServerOptions;
  #server: Server | undefined;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
  }

  /** Resolves once the socket accepts connections. Throws if it cannot be created. */
  async start(): Promise<void> {
    const { socket, services } = this.#options;
    const server = new Server({
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_concurrent_streams': maxConcurrentStreams,
    });
    for (const service of services) server.addService(...this.#implement(service));
    await rm(socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    this.#server = server;
  }

  /** Ends all calls and removes the socket. */
  async close(): Promise<void> {
    this.#server?.forceShutdown();
    if (this.#server !== undefined) await rm(this.#options.socket, { force: true });
    this.#server = undefined;
  }

  #implement({ name, unary = {}, streams = {} }: GrpcService): [ServiceDefinition, UntypedServiceImplementation] {
    const rows: [string, Implementation][] = [
      ...Object.entries(unary).map(([method, handler]): [string, Implementation] => [method, answering(handler)]),
      ...Object.entries(streams).map(([method, handler]): [string, Implementation] => [method, streaming(handler)]),
    ];
    const definitions = rows.map(([method]) => [method, this.#define(name, method)] as const);
    return [Object.fromEntries(definitions), Object.fromEntries(rows)];
  }

  /** Throws RangeError for unknown methods. */
  #define(service: string, method: string): ServiceDefinition[string] {
    const { root } = this.#options;
    const declared = root.lookupService(service).methods[method];
    if (declared === undefined) throw new RangeError(`no method ${service}/${method} in the descriptor`);
    const prefix = service.slice(0, service.lastIndexOf('.'));
    const request = root.lookupType(`${prefix}.${declared.requestType}`);
    const response = root.lookupType(`${prefix}.${declared.responseType}`);
    return {
      path: `/${service}/${method}`,
      requestStream: false,
      responseStream: declared.responseStream === true,
      ...{ requestSerialize: encoder(request), requestDeserialize: decoder(request) },
      ...{ responseSerialize: encoder(response), responseDeserialize: decoder(response) },
    };
  }
}

function encoder(type: protobuf.Type): (value: Message) => Buffer {
  return (value) => Buffer.from(type.encode(type.fromObject(value)).finish());
}

function decoder(type: protobuf.Type): (bytes: Buffer) => Message {
  const options = { longs: String, enums: String, defaults: true, arrays: true, objects: true };
  return (bytes) => type.toObject(type.decode(new StrictReader(bytes)), options);
}

function answering(handler: UnaryHandler): handleUnaryCall<Message, Message> {
  return ({ request }: ServerUnaryCall<Message, Message>, respond: sendUnaryData<Message>): void => {
    Promise.resolve(request)
      .then(handler)
      .then(
        (response) => respond(null, response),
        (error: unknown) => respond(statusOf(error)),
      );
  };
}

function streaming(handler: StreamHandler) {
  return (call: ServerWritableStream<Message, Message>): void => {
    const stop = new AbortController();
    call.on('cancelled', () => stop.abort());
    void send(call, handler(call.request, stop.signal), stop.signal);
  };
}

/** Never rejects. Waits while the client does not read. */
async function send(
  call: ServerWritableStream<Message, Message>,
  messages: AsyncIterable<Message>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const message of messages) {
      if (signal.aborted) return;
      if (!call.write(message)) await drained(call, signal);
    }
    call.end();
  } catch (error) {
    call.emit('error', statusOf(error));
  }
}

function drained(call: ServerWritableStream<Message, Message>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    call.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function statusOf(error: unknown): { readonly code: status; readonly details: string } {
  if (error instanceof CallError) return { code: error.code, details: error.details };
  return { code: status.UNKNOWN, details: messageOf(error) };
}
