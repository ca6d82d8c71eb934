/** A gRPC server on HTTP/2: calls with one answer, and streams in both directions. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { messageOf } from '#apimachinery/errors/message.js';
import { type FrameLimits, FrameReader, frameMessage } from '#http/grpc/frames.js';
import { encodeMessage, grpcStatus } from '#http/grpc/status.js';
import { WireError, WireReader } from '#storage/etcd/answers.js';
import type { WireWriter } from '#storage/etcd/requests.js';
import { EtcdApiError, requestTooLarge, unimplemented } from '#testcluster/etcd/errors.js';

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

/** Limit of a message; etcd's default of `--max-request-bytes` with the room that its server adds. */
const maxMessageBytes = 1.5 * 1024 * 1024 + 512 * 1024;

const limits: FrameLimits = {
  maxMessageBytes,
  compressed: () => new EtcdApiError(grpcStatus.UNIMPLEMENTED, 'messages must not be compressed'),
  tooLong: requestTooLarge,
};

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
      stream.write(frameMessage(answer.finish()));
      end(stream, grpcStatus.OK, '');
      return;
    }
    throw new EtcdApiError(grpcStatus.INTERNAL, 'the request has no message');
  }
}

async function serveStream(stream: ServerHttp2Stream, open: OpenStream): Promise<void> {
  begin(stream);
  const handler = open(async (message) => {
    if (stream.destroyed || stream.writableEnded) throw new Error('the stream has ended');
    if (stream.write(frameMessage(message))) return;
    await new Promise<void>((resolve) => {
      stream.once('drain', resolve);
      stream.once('close', resolve);
    });
  });
  stream.once('close', () => handler.close());
  try {
    for await (const message of messagesOf(stream)) await handler.take(new WireReader(message));
    end(stream, grpcStatus.OK, '');
  } finally {
    handler.close();
  }
}

/** The messages of the request. Throws for compressed and for too long ones. */
async function* messagesOf(stream: ServerHttp2Stream): AsyncGenerator<Buffer, void, void> {
  const frames = new FrameReader(limits);
  // The answer follows when no more is read.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) yield* frames.push(chunk as Buffer);
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
      ...(message === '' ? {} : { 'grpc-message': encodeMessage(message) }),
    });
  });
  stream.end();
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
  return [error instanceof WireError ? grpcStatus.INTERNAL : grpcStatus.UNKNOWN, messageOf(error)];
}
