/**
 * gRPC over a unix socket with reflected messages: encodes messages, sets deadlines and translates errors.
 *
 * Does not use the etcd client's HTTP/2 implementation: runtimes get only a few calls a second, so its 50 µs per call
 * do not matter, while grpc-js also reconnects and limits message sizes in both directions.
 */
import {
  type ClientReadableStream,
  connectivityState,
  credentials,
  Client as GrpcClient,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import { CRIError, type CRIErrorCode } from '#nodeagent/cri/errors.js';

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
}

const codeOf: Partial<Record<status, CRIErrorCode>> = {
  [status.NOT_FOUND]: 'NotFound',
  [status.ALREADY_EXISTS]: 'AlreadyExists',
  [status.INVALID_ARGUMENT]: 'InvalidArgument',
  [status.DEADLINE_EXCEEDED]: 'DeadlineExceeded',
  [status.UNAVAILABLE]: 'Unavailable',
  [status.CANCELLED]: 'Cancelled',
  [status.UNIMPLEMENTED]: 'Unimplemented',
};

/** In some calls, containerd reports missing objects as UNKNOWN; only the text tells. */
function translate(error: ServiceError): CRIError {
  const message = error.details || (error.code === undefined ? 'the response cannot be decoded' : error.message);
  const code = codeOf[error.code] ?? (/(: |^)not found$/.test(message) ? 'NotFound' : 'Unknown');
  return new CRIError(code, message, { cause: error });
}

/** Encoder and decoder of a method's messages. */
interface Method {
  readonly serialize: (value: Message) => Buffer;
  readonly deserialize: (bytes: Buffer) => Message;
}

/** Lists of nodes with thousands of containers exceed the default 4 MiB. */
const maxMessageBytes = 16 * 1024 * 1024;

export class GrpcChannel {
  readonly #socket: string;
  #client: GrpcClient;
  readonly #root: protobuf.Root;
  readonly #timeoutMs: number;
  readonly #inspector: MessageInspector | undefined;
  readonly #traceparent: GrpcChannelOptions['traceparent'];
  readonly #methods = new Map<string, Method>();

  constructor(options: GrpcChannelOptions) {
    this.#socket = options.socket;
    this.#client = this.#connect();
    this.#root = options.root;
    this.#timeoutMs = options.timeoutMs;
    this.#inspector = options.inspector;
    this.#traceparent = options.traceparent;
  }

  #connect(): GrpcClient {
    return new GrpcClient(`unix:${this.#socket}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      // Reconnect quickly after a restart of the runtime.
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_http_proxy': 0,
    });
  }

  /** Reconnects if the runtime accepted the connection but stays silent, since grpc-js would wait forever. */
  #reconnectIfSilent(client: GrpcClient, error: ServiceError): void {
    const isOurs = client === this.#client && error.code === status.DEADLINE_EXCEEDED;
    if (!isOurs || client.getChannel().getConnectivityState(false) !== connectivityState.CONNECTING) return;
    this.#client = this.#connect();
    client.close();
  }

  /** `method`: such as `runtime.v1.RuntimeService/Version`. Throws RangeError for unknown methods. */
  #method(method: string): Method {
    const cached = this.#methods.get(method);
    if (cached !== undefined) return cached;
    const [serviceName = '', methodName = ''] = method.split('/');
    const declared = this.#root.lookupService(serviceName).methods[methodName];
    if (declared === undefined) throw new RangeError(`no method ${method} in the descriptor`);
    const prefix = serviceName.slice(0, serviceName.lastIndexOf('.'));
    const codec = {
      serialize: this.#serialize(this.#root.lookupType(`${prefix}.${declared.requestType}`)),
      deserialize: this.#deserialize(this.#root.lookupType(`${prefix}.${declared.responseType}`)),
    };
    this.#methods.set(method, codec);
    return codec;
  }

  #serialize(type: protobuf.Type): (value: Message) => Buffer {
    return (value) => {
      this.#inspector?.request(type, value);
      return Buffer.from(type.encode(type.fromObject(value)).finish());
    };
  }

  #deserialize(type: protobuf.Type): (bytes: Buffer) => Message {
    return (bytes) => {
      this.#inspector?.response(type, bytes);
      return type.toObject(type.decode(bytes), {
        longs: String,
        enums: String,
        defaults: true,
        arrays: true,
        objects: true,
      });
    };
  }

  /** A unary call. `method`: such as `runtime.v1.RuntimeService/Version`. `timeoutMs`: 0 for no deadline. */
  call(method: string, request: Message, timeoutMs = this.#timeoutMs, signal?: AbortSignal): Promise<Message> {
    const { serialize, deserialize } = this.#method(method);
    if (signal?.aborted === true) return Promise.reject(new CRIError('Cancelled', 'the call was cancelled'));
    const client = this.#client;
    return new Promise((resolve, reject) => {
      const cancel = () => call.cancel();
      const call = client.makeUnaryRequest(
        `/${method}`,
        serialize,
        deserialize,
        request,
        this.#metadata(),
        timeoutMs > 0 ? { deadline: Date.now() + timeoutMs } : {},
        (error, value) => {
          signal?.removeEventListener('abort', cancel);
          if (error) {
            this.#reconnectIfSilent(client, error);
            reject(translate(error));
          } else resolve(value ?? {});
        },
      );
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  #metadata(): Metadata {
    const metadata = new Metadata();
    const traceparent = this.#traceparent?.();
    if (traceparent !== undefined) metadata.set('traceparent', traceparent);
    return metadata;
  }

  /** A server stream without deadline; calls `onEnd` once, with undefined for a clean end. */
  stream(
    method: string,
    request: Message,
    handler: { onMessage(message: Message): void; onEnd(error?: CRIError): void },
  ): () => void {
    const { serialize, deserialize } = this.#method(method);
    const stream: ClientReadableStream<Message> = this.#client.makeServerStreamRequest(
      `/${method}`,
      serialize,
      deserialize,
      request,
      new Metadata(),
    );
    let ended = false;
    const end = (error?: CRIError) => {
      if (ended) return;
      ended = true;
      handler.onEnd(error);
    };
    stream.on('data', (message: Message) => handler.onMessage(message));
    stream.on('error', (error: ServiceError) => end(translate(error)));
    stream.on('end', () => end());
    return () => {
      ended = true;
      stream.cancel();
    };
  }

  close(): void {
    this.#client.close();
  }
}
