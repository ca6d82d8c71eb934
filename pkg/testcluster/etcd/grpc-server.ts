/** A gRPC server on HTTP/2: calls with one answer, and streams in both directions. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { messageOf } from '#apimachinery/errors/message.js';
import { WireError, WireReader } from '#storage/etcd/answers.js';
import type { WireWriter } from '#storage/etcd/requests.js';
import { EtcdApiError, grpcCode, requestTooLarge, unimplemented } from '#testcluster/etcd/errors.js';

/** A call with one request and one answer. */
export type Unary = (request: WireReader) => WireWriter | Promise<WireWriter>;

/** The server's side of a stream. */
export interface StreamHandler {
  /** Takes one message of the client; the next one follows when it resolves. */
  take(message: WireReader): Promise<void>;
  /** The stream has ended. */
  close(): void;
}

/** @param send Resolves when the client may get the next message. */
export type OpenStream = (send: (message: Buffer) => Promise<void>) => StreamHandler;

export interface GrpcMethods {
  /** By path: `/etcdserverpb.KV/Range`. */
  readonly calls: Readonly<Record<string, Unary>>;
  readonly streams: Readonly<Record<string, OpenStream>>;
}

const prefixBytes = 5;
/** Limit of a message; etcd's default of `--max-request-bytes` with the room that its server adds. */
const maxMessageBytes = 1.5 * 1024 * 1024 + 512 * 1024;

export class GrpcServer {
  readonly #methods: GrpcMethods;

  constructor(methods: GrpcMethods) {
    this.#methods = methods;
  }

  /** Serves a stream of HTTP/2. Never throws, never rejects. */
  serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // A reset by the client; what is under way ends with `close`.
    stream.on('error', () => undefined);
    this.#serve(stream, String(headers[':path'])).catch((error: unknown) => fail(stream, error));
  }

  async #serve(stream: ServerHttp2Stream, path: string): Promise<void> {
    const { calls, streams } = this.#methods;
    const open = Object.hasOwn(streams, path) ? streams[path] : undefined;
    if (open !== undefined) return serveStream(stream, open);
    const call = Object.hasOwn(calls, path) ? calls[path] : undefined;
    if (call === undefined) throw unimplemented(path);
    for await (const message of messagesOf(stream)) {
      const answer = await call(new WireReader(message));
      if (stream.destroyed) return;
      begin(stream);
      stream.write(framed(answer.finish()));
      end(stream, grpcCode.ok, '');
      return;
    }
    throw new EtcdApiError(grpcCode.internal, 'the request has no message');
  }
}

async function serveStream(stream: ServerHttp2Stream, open: OpenStream): Promise<void> {
  begin(stream);
  const handler = open(async (message) => {
    if (stream.destroyed || stream.writableEnded) throw new Error('the stream has ended');
    if (stream.write(framed(message))) return;
    await new Promise<void>((resolve) => {
      stream.once('drain', resolve);
      stream.once('close', resolve);
    });
  });
  stream.once('close', () => handler.close());
  try {
    for await (const message of messagesOf(stream)) await handler.take(new WireReader(message));
    end(stream, grpcCode.ok, '');
  } finally {
    handler.close();
  }
}

/** The messages of the request. Throws for compressed and for too long ones. */
async function* messagesOf(stream: ServerHttp2Stream): AsyncGenerator<Buffer, void, void> {
  let held: Buffer = Buffer.alloc(0);
  // The answer follows when no more is read.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    held = held.length === 0 ? (chunk as Buffer) : Buffer.concat([held, chunk as Buffer]);
    while (held.length >= prefixBytes) {
      const length = held.readUInt32BE(1);
      if (held[0] !== 0) throw new EtcdApiError(grpcCode.unimplemented, 'messages must not be compressed');
      if (length > maxMessageBytes) throw requestTooLarge();
      if (held.length < prefixBytes + length) break;
      const message = held.subarray(prefixBytes, prefixBytes + length);
      held = held.subarray(prefixBytes + length);
      yield message;
    }
  }
}

function framed(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(prefixBytes + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  message.copy(bytes, prefixBytes);
  return bytes;
}

function begin(stream: ServerHttp2Stream): void {
  if (stream.headersSent) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
}

function end(stream: ServerHttp2Stream, code: number, message: string): void {
  if (stream.destroyed || stream.writableEnded) return;
  stream.once('wantTrailers', () => {
    stream.sendTrailers({
      'grpc-status': String(code),
      ...(message === '' ? {} : { 'grpc-message': percentEncoded(message) }),
    });
  });
  stream.end();
}

/** As gRPC requires it: everything but printable characters of ASCII, and the sign itself. */
function percentEncoded(message: string): string {
  return message.replace(/[^\x20-\x24\x26-\x7e]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

function fail(stream: ServerHttp2Stream, error: unknown): void {
  if (stream.destroyed) return;
  const [code, message] = failureOf(error);
  begin(stream);
  end(stream, code, message);
  // The rest of the request is not needed.
  stream.resume();
}

function failureOf(error: unknown): readonly [code: number, message: string] {
  if (error instanceof EtcdApiError) return [error.code, error.message];
  return [error instanceof WireError ? grpcCode.internal : grpcCode.unknown, messageOf(error)];
}
