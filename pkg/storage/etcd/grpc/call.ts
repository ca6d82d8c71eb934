/** gRPC calls on an HTTP/2 session: one stream each. */
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Clock } from '#apimachinery/clock.js';
import { FrameReader, frameMessage } from '#storage/etcd/grpc/frames.js';
import { decodeMessage, GrpcError, grpcStatus, statusOfHttp } from '#storage/etcd/grpc/status.js';

export interface UnaryCall {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: Buffer;
  /** Time that is left for it; ms, at least 1. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A stream of messages in both directions. Leaving the iteration cancels it. */
export interface GrpcStream extends AsyncIterable<Buffer> {
  write(message: Buffer): void;
  /** Idempotent. */
  cancel(): void;
}

type Headers = Readonly<Record<string, string>>;

/** The one answer to one request; rejects with GrpcErrors. */
export function callUnary(session: ClientHttp2Session, call: UnaryCall, clock: Clock): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const timeoutMs = Math.max(1, Math.ceil(call.timeoutMs));
    const stream = openStream(session, call.path, { 'grpc-timeout': `${timeoutMs}m` });
    const frames = new FrameReader();
    let answer: Buffer | undefined;
    let failure: GrpcError | undefined;
    const giveUp = (error: GrpcError) => {
      failure ??= error;
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const cancel = () => giveUp(new GrpcError(grpcStatus.CANCELLED, 'the call was cancelled'));
    const deadline = clock.setTimer(
      () => giveUp(new GrpcError(grpcStatus.DEADLINE_EXCEEDED, 'Deadline exceeded')),
      timeoutMs,
    );
    call.signal?.addEventListener('abort', cancel, { once: true });
    stream.on('data', (chunk: Buffer) => {
      try {
        answer = frames.push(chunk)[0] ?? answer;
      } catch (error) {
        giveUp(asGrpcError(error));
      }
    });
    onEnd(stream, (error) => {
      deadline.cancel();
      call.signal?.removeEventListener('abort', cancel);
      const cause = failure ?? error;
      if (cause !== undefined) reject(cause);
      else if (answer === undefined) reject(new GrpcError(grpcStatus.INTERNAL, 'an answer without a message'));
      else resolve(answer);
    });
    stream.end(frameMessage(call.request));
  });
}

/** Messages are read as fast as the caller takes them: HTTP/2's flow control holds the server back. */
export function callStream(session: ClientHttp2Session, path: string, metadata: Headers): GrpcStream {
  const stream = openStream(session, path, metadata);
  const ended = new Promise<GrpcError | undefined>((resolve) => onEnd(stream, resolve));
  const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
  return {
    write: (message) => void stream.write(frameMessage(message)),
    cancel,
    async *[Symbol.asyncIterator]() {
      const frames = new FrameReader();
      try {
        for await (const chunk of stream as AsyncIterable<Buffer>) yield* frames.push(chunk);
      } catch (error) {
        // What the end says of it is more exact.
        if (error instanceof GrpcError) throw error;
        cancel();
      } finally {
        cancel();
      }
      const error = await ended;
      if (error !== undefined) throw error;
    },
  };
}

function openStream(session: ClientHttp2Session, path: string, metadata: Headers): ClientHttp2Stream {
  try {
    return session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...metadata,
    });
  } catch (cause) {
    throw new GrpcError(grpcStatus.UNAVAILABLE, 'the connection was closed', { sent: false, cause });
  }
}

/** Calls back once, when all data was read: undefined for status OK. */
function onEnd(stream: ClientHttp2Stream, done: (error: GrpcError | undefined) => void): void {
  let status: GrpcError | 'ok' | undefined;
  let httpStatus = 200;
  let failure: unknown;
  let called = false;
  const finish = (error: GrpcError | undefined) => {
    if (called) return;
    called = true;
    done(error);
  };
  stream.on('response', (headers) => {
    httpStatus = headers[':status'] ?? 0;
    status = statusIn(headers);
  });
  stream.on('trailers', (headers) => {
    status = statusIn(headers) ?? status;
  });
  stream.on('error', (error) => {
    failure = error;
  });
  // Sooner than `close`, which costs another turn of the event loop.
  stream.on('end', () => {
    if (status !== undefined) finish(status === 'ok' ? undefined : status);
  });
  stream.on('close', () => {
    if (status !== undefined) finish(status === 'ok' ? undefined : status);
    else if (httpStatus !== 200) finish(new GrpcError(statusOfHttp(httpStatus), `HTTP status ${httpStatus}`));
    else finish(brokenOff(stream.rstCode, failure));
  });
}

function statusIn(headers: IncomingHttpHeaders): GrpcError | 'ok' | undefined {
  const text = headers['grpc-status'];
  if (typeof text !== 'string') return undefined;
  const code = Number.parseInt(text, 10);
  if (code === grpcStatus.OK) return 'ok';
  const message = headers['grpc-message'];
  const details = typeof message === 'string' ? decodeMessage(message) : '';
  return new GrpcError(Number.isNaN(code) ? grpcStatus.UNKNOWN : code, details);
}

/** A stream that ended without a status. */
function brokenOff(rstCode: number | undefined, cause: unknown): GrpcError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  switch (rstCode) {
    case constants.NGHTTP2_REFUSED_STREAM:
      return new GrpcError(grpcStatus.UNAVAILABLE, 'the server refused the stream', { sent: false, cause });
    case constants.NGHTTP2_CANCEL:
      // Also what the end of a connection does to its streams.
      return new GrpcError(grpcStatus.UNAVAILABLE, `the call was broken off${why}`, { cause });
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new GrpcError(grpcStatus.RESOURCE_EXHAUSTED, 'the server asks for fewer calls', { cause });
    default:
      return new GrpcError(grpcStatus.UNAVAILABLE, `the connection was lost${why}`, { cause });
  }
}

function asGrpcError(error: unknown): GrpcError {
  return error instanceof GrpcError ? error : new GrpcError(grpcStatus.INTERNAL, String(error), { cause: error });
}
