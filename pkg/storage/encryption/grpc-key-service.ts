/**
 * Calls a plugin of version v1beta1 of the key management API by gRPC over a Unix socket, with the words of 1.24
 * (apiserver/pkg/storage/value/encrypt/envelope/grpc_service.go).
 */
import { connect } from 'node:net';
import {
  connectivityState,
  credentials,
  Client as GrpcClient,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs/minimal.js';
import type { Clock } from '#apimachinery/clock.js';
import { type KeyService, KeyServiceError } from '#storage/encryption/key-service.js';

export interface GrpcKeyServiceOptions {
  /** A path, or `@` and a name in Linux's abstract namespace. */
  readonly socket: string;
  /** Limit of each call, waiting for the connection included. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const apiVersion = 'v1beta1';
const service = `/${apiVersion}.KeyManagementService/`;

/** Calls at the same time; others wait, so that a large list neither floods the plugin nor expires in its queue. */
const maxCalls = 32;
/** An encrypted key has at most 64 KiB. */
const maxMessageBytes = 1024 * 1024;

/** Names of Go's gRPC codes, by number. */
const codeNames =
  `OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted
   FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated`.split(/\s+/);

export class GrpcKeyService implements KeyService {
  readonly #options: GrpcKeyServiceOptions;
  #client: GrpcClient;
  #checked = false;
  #calls = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: GrpcKeyServiceOptions) {
    this.#options = options;
    this.#client = this.#connect();
  }

  async encrypt(plain: Buffer): Promise<Buffer> {
    return bytesOf(await this.#checkedCall('Encrypt', encodeRequest(plain)));
  }

  async decrypt(cipher: Buffer): Promise<Buffer> {
    return bytesOf(await this.#checkedCall('Decrypt', encodeRequest(cipher)));
  }

  close(): void {
    this.#client.close();
  }

  /** The first call asks for the plugin's version; both share one deadline, as in 1.24. */
  async #checkedCall(method: string, request: Uint8Array): Promise<Buffer> {
    await this.#place();
    try {
      const dueMs = this.#options.clock.now() + this.#options.timeoutMs;
      await this.#checkVersion(dueMs);
      return await this.#call(method, request, dueMs);
    } finally {
      this.#calls -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #place(): Promise<void> {
    while (this.#calls >= maxCalls) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#calls += 1;
  }

  async #checkVersion(dueMs: number): Promise<void> {
    if (this.#checked) return;
    let version: string;
    try {
      version = bytesOf(await this.#call('Version', encodeRequest(undefined), dueMs)).toString();
    } catch (error) {
      if (!(error instanceof KeyServiceError)) throw error;
      const text = `failed get version from remote KMS provider: ${error.message}`;
      // 1.24 counts it as unknown, too, but here the code tells whether to try again.
      throw new KeyServiceError(error.code, text, { cause: error });
    }
    if (version !== apiVersion) {
      const text = `KMS provider api version ${version} is not supported, only ${apiVersion} is supported now`;
      throw new KeyServiceError('Unknown', text);
    }
    this.#checked = true;
  }

  #call(method: string, request: Uint8Array, dueMs: number): Promise<Buffer> {
    const client = this.#client;
    const metadata = new Metadata({ waitForReady: true });
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        service + method,
        (message: Uint8Array) => Buffer.from(message),
        (message: Buffer) => message,
        request,
        metadata,
        { deadline: dueMs },
        (error, value) => {
          if (error === null) return resolve(value ?? Buffer.alloc(0));
          const isConnected = client.getChannel().getConnectivityState(false) === connectivityState.READY;
          this.#reconnectIfSilent(client, error);
          void this.#explained(error, isConnected).then(reject);
        },
      );
    });
  }

  /** A call that expired without a connection tells why there is none, as Go's client does. Never rejects. */
  async #explained(error: ServiceError, isConnected: boolean): Promise<KeyServiceError> {
    if (error.code !== status.DEADLINE_EXCEEDED) return failure(error, error.details);
    const why = isConnected ? undefined : await this.#dialFailure();
    if (why === undefined) return failure(error, 'context deadline exceeded');
    const text = `transport: Error while dialing dial unix ${this.#options.socket}: connect: ${why}`;
    return failure(error, `latest balancer error: connection error: desc = ${JSON.stringify(text)}`);
  }

  /** Undefined if the socket accepts a connection. */
  #dialFailure(): Promise<string | undefined> {
    return new Promise((resolve) => {
      const socket = connect(pathOf(this.#options.socket));
      socket.once('connect', () => resolve(undefined));
      socket.once('error', ({ code = '', message }: NodeJS.ErrnoException) => resolve(words[code] ?? message));
      socket.on('connect', () => socket.destroy());
    });
  }

  #connect(): GrpcClient {
    return new GrpcClient(`unix:${pathOf(this.#options.socket)}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_http_proxy': 0,
    });
  }

  /** Reconnects if the plugin accepted the connection but stays silent, since grpc-js would wait forever. */
  #reconnectIfSilent(client: GrpcClient, { code }: ServiceError): void {
    if (client !== this.#client || code !== status.DEADLINE_EXCEEDED) return;
    if (client.getChannel().getConnectivityState(false) !== connectivityState.CONNECTING) return;
    this.#client = this.#connect();
    client.close();
  }
}

/** Go's words for reasons not to connect. */
const words: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ECONNREFUSED: 'connection refused',
  EACCES: 'permission denied',
};

/** Node.js names abstract sockets with a zero byte. */
function pathOf(socket: string): string {
  return socket.replace(/^@/, '\0');
}

function failure(error: ServiceError, details: string): KeyServiceError {
  const code = codeNames[error.code ?? status.UNKNOWN] ?? `Code(${error.code})`;
  return new KeyServiceError(code, `rpc error: code = ${code} desc = ${details}`, { cause: error });
}

/** VersionRequest, EncryptRequest and DecryptRequest: field 1 is the version, field 2 the bytes. */
function encodeRequest(bytes: Buffer | undefined): Uint8Array {
  const writer = protobuf.Writer.create().uint32(0x0a).string(apiVersion);
  return (bytes === undefined || bytes.length === 0 ? writer : writer.uint32(0x12).bytes(bytes)).finish();
}

/** Field 1 of VersionResponse, EncryptResponse and DecryptResponse. Throws KeyServiceError. */
function bytesOf(message: Buffer): Buffer {
  try {
    const reader = protobuf.Reader.create(message);
    let value: Uint8Array = Buffer.alloc(0);
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 0x0a) value = reader.bytes();
      else reader.skipType(tag & 7);
    }
    return Buffer.from(value);
  } catch (error) {
    throw new KeyServiceError('Internal', 'rpc error: code = Internal desc = cannot decode the response', {
      cause: error,
    });
  }
}
