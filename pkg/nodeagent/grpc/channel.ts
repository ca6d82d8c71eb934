/**
 * gRPC over a unix socket with reflected messages, to runtimes, plugins and drivers: encodes messages, sets deadlines
 * and translates errors.
 *
 * Does not use the etcd client's HTTP/2 implementation: runtimes get only a few calls a second, so its 50 µs per call
 * do not matter, while grpc-js also reconnects and limits message sizes in both directions.
 */
import {
  type ClientReadableStream,
  connectivityState,
  Client as GrpcClient,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import { CallError } from '#nodeagent/grpc/call-error.js';
import { LocalCredentials } from '#nodeagent/grpc/local-credentials.js';
import { StrictReader } from '#nodeagent/grpc/strict-reader.js';

/** Decoded messages: 64-bit numbers as strings, enums as names, absent fields with their default value. */
export type Message = Record<string, unknown>;

/** Inspects every message: sent ones before encoding, received ones before decoding. */
export interface MessageInspector {
  request(type: protobuf.Type, value: Message): void;
  response(type: protobuf.Type, bytes: Buffer): void;
}

export interface GrpcChannelOptions {
  readonly socket: string;
  readonly root: protobuf.Root;
  /** Default deadline of calls. */
  readonly timeoutMs: number;
  readonly inspector?: MessageInspector | undefined;
  /** W3C traceparent header of the current call's span; undefined: none. */
  readonly traceparent?: (() => string | undefined) | undefined;
  /** The error that calls reject with; default CallError. */
  readonly translate?: ((failure: CallFailure) => Error) | undefined;
  /** Default 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Refuses strings that are not UTF-8, so that two names cannot become one. Default false. */
  readonly strictText?: boolean;
}

/** A call that failed. */
export interface CallFailure {
  readonly code: status;
  /** The server's words, or the client's own. */
  readonly message: string;
  readonly cause?: unknown;
}

function failureOf(error: ServiceError): CallFailure {
  const { code = status.UNKNOWN, details } = error as Partial<ServiceError>;
  const message = details || (error.code === undefined ? 'the response cannot be decoded' : error.message);
  return { code, message, cause: error };
}

const cancelled: CallFailure = { code: status.CANCELLED, message: 'the call was cancelled' };

interface Connection {
  readonly client: GrpcClient;
  readonly credentials: LocalCredentials;
}

/** Encoder and decoder of a method's messages. */
interface Method {
  readonly serialize: (value: Message) => Buffer;
  readonly deserialize: (bytes: Buffer) => Message;
}

/** Lists of nodes with thousands of containers exceed the default 4 MiB. */
const defaultMaxMessageBytes = 16 * 1024 * 1024;

export class GrpcChannel {
  readonly #options: GrpcChannelOptions;
  #connection: Connection;
  readonly #closing = new AbortController();
  readonly #methods = new Map<string, Method>();

  constructor(options: GrpcChannelOptions) {
    this.#options = options;
    this.#connection = this.#connect();
  }

  #connect(): Connection {
    const { socket, maxMessageBytes = defaultMaxMessageBytes } = this.#options;
    const credentials = new LocalCredentials();
    const client = new GrpcClient(`unix:${socket}`, credentials, {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      // Reconnect quickly after a restart of the server.
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_http_proxy': 0,
    });
    return { client, credentials };
  }

  /** Reconnects if the server accepted the connection but stays silent, since grpc-js would wait forever. */
  #reconnectIfSilent(connection: Connection, error: ServiceError): void {
    const isOurs = connection === this.#connection && error.code === status.DEADLINE_EXCEEDED;
    if (!isOurs || connection.client.getChannel().getConnectivityState(false) !== connectivityState.CONNECTING) return;
    this.#connection = this.#connect();
    close(connection);
  }

  /** `method`: such as `runtime.v1.RuntimeService/Version`. Throws RangeError for unknown methods. */
  #method(method: string): Method {
    const cached = this.#methods.get(method);
    if (cached !== undefined) return cached;
    const [serviceName = '', methodName = ''] = method.split('/');
    const { root } = this.#options;
    const declared = root.lookupService(serviceName).methods[methodName];
    if (declared === undefined) throw new RangeError(`no method ${method} in the descriptor`);
    const prefix = serviceName.slice(0, serviceName.lastIndexOf('.'));
    const codec = {
      serialize: this.#serialize(root.lookupType(`${prefix}.${declared.requestType}`)),
      deserialize: this.#deserialize(root.lookupType(`${prefix}.${declared.responseType}`)),
    };
    this.#methods.set(method, codec);
    return codec;
  }

  #serialize(type: protobuf.Type): (value: Message) => Buffer {
    return (value) => {
      this.#options.inspector?.request(type, value);
      return Buffer.from(type.encode(type.fromObject(value)).finish());
    };
  }

  #deserialize(type: protobuf.Type): (bytes: Buffer) => Message {
    const { strictText = false } = this.#options;
    return (bytes) => {
      this.#options.inspector?.response(type, bytes);
      return type.toObject(type.decode(strictText ? new StrictReader(bytes) : bytes), {
        longs: String,
        enums: String,
        defaults: true,
        arrays: true,
        objects: true,
      });
    };
  }

  /** A unary call. `method`: such as `runtime.v1.RuntimeService/Version`. `timeoutMs`: 0 for no deadline. */
  call(method: string, request: Message, timeoutMs = this.#options.timeoutMs, signal?: AbortSignal): Promise<Message> {
    const { serialize, deserialize } = this.#method(method);
    if (signal?.aborted === true) return Promise.reject(this.#translate(cancelled));
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      const cancel = () => call.cancel();
      const call = connection.client.makeUnaryRequest(
        `/${method}`,
        serialize,
        deserialize,
        request,
        this.#metadata(),
        timeoutMs > 0 ? { deadline: Date.now() + timeoutMs } : {},
        (error, value) => {
          signal?.removeEventListener('abort', cancel);
          if (error) {
            this.#reconnectIfSilent(connection, error);
            reject(this.#translate(failureOf(error)));
          } else resolve(value ?? {});
        },
      );
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    const traceparent = this.#options.traceparent?.();
    if (traceparent !== undefined) metadata.set('traceparent', traceparent);
    return metadata;
  }

  #translate(failure: CallFailure): Error {
    return this.#options.translate?.(failure) ?? new CallError(failure);
  }

  /** Resolves once the connection is open; rejects at the deadline. Retries meanwhile. */
  ready(timeoutMs: number): Promise<void> {
    const channel = this.#connection.client.getChannel();
    const deadline = Date.now() + timeoutMs;
    return new Promise((resolve, reject) => {
      const check = (cause?: Error) => {
        // A closed channel that is asked for its state connects again, and never stops.
        if (this.#closing.signal.aborted) return reject(this.#translate(cancelled));
        const late = { code: status.DEADLINE_EXCEEDED, message: 'context deadline exceeded', cause };
        if (cause !== undefined) return reject(this.#translate(late));
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.READY) return resolve();
        channel.watchConnectivityState(state, deadline, check);
      };
      check();
    });
  }

  /**
   * A server stream without deadline; calls `onEnd` once, with undefined for a clean end. While a promise of `onMessage`
   * is pending no more is read, so that the server cannot flood the caller.
   */
  stream(
    method: string,
    request: Message,
    handler: { onMessage(message: Message): void | Promise<void>; onEnd(error?: Error): void },
  ): () => void {
    const { serialize, deserialize } = this.#method(method);
    const stream: ClientReadableStream<Message> = this.#connection.client.makeServerStreamRequest(
      `/${method}`,
      serialize,
      deserialize,
      request,
      new Metadata(),
    );
    let ended = false;
    const end = (error?: Error) => {
      if (ended) return;
      ended = true;
      handler.onEnd(error);
    };
    stream.on('data', (message: Message) => {
      if (ended) return;
      const work = handler.onMessage(message);
      if (work === undefined) return;
      stream.pause();
      work.then(
        () => stream.resume(),
        (error: unknown) => stream.destroy(error as Error),
      );
    });
    stream.on('error', (error: ServiceError) => end(this.#translate(failureOf(error))));
    stream.on('end', () => end());
    return () => {
      ended = true;
      stream.cancel();
    };
  }

  /** Ends the connection; calls in progress fail. */
  close(): void {
    this.#closing.abort();
    close(this.#connection);
  }
}

function close({ client, credentials }: Connection): void {
  client.close();
  credentials.close();
}
