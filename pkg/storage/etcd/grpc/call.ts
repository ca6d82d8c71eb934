/** gRPC calls on an HTTP/2 session: one stream each, with length-prefixed messages. */

import type { DeadlineTimer, Expiring } from '#apimachinery/async/deadline-timer.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { type FrameLimits, FrameReader, frameMessage, type Message } from '#http/grpc/frames.js';
import { decodeMessage, GrpcError, grpcStatus, statusOfHttp } from '#http/grpc/status.js';
import type { Http2Session, Http2Stream, StreamFailure, StreamHandler } from '#http/http2/client-session.js';
import { resetCode } from '#http/http2/frames.js';
import type { HeaderField } from '#http/http2/hpack.js';

export interface UnaryCall {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: Message;
  /** Remaining time in ms; at least 1. */
  readonly timeoutMs: number;
  /** Send at once instead of at the end of the turn; for calls that have already waited for others. */
  readonly prompt?: boolean | undefined;
  readonly signal?: Cancellation | undefined;
  /** Value of the header `traceparent`, which joins etcd's spans to the trace. */
  readonly traceparent?: string | undefined;
}

/** A bidirectional stream. Leaving the iteration cancels it. */
export interface GrpcStream extends AsyncIterable<Buffer> {
  write(message: Buffer): void;
  /** Idempotent. */
  cancel(): void;
}

/** Larger than any requested page; longer messages are refused. */
const maxMessageBytes = 1024 ** 3;

/** What a client of etcd refuses. */
export const answerLimits: FrameLimits = {
  maxMessageBytes,
  compressed: () => new GrpcError(grpcStatus.INTERNAL, 'unexpected compressed message'),
  tooLong: (length) =>
    new GrpcError(grpcStatus.RESOURCE_EXHAUSTED, `received message larger than max (${length} vs. ${maxMessageBytes})`),
};

const nothing = Buffer.alloc(0);
/** Limit of unread chunks, which are then concatenated. */
const maxChunks = 256;

/** The status of a call. */
class Outcome {
  #status: GrpcError | 'ok' | undefined;
  #httpStatus = 200;

  headers(fields: readonly HeaderField[]): void {
    let code: string | undefined;
    let message = '';
    for (const [name, value] of fields) {
      if (name === ':status') this.#httpStatus = Number(value);
      else if (name === 'grpc-status') code = value;
      else if (name === 'grpc-message') message = value;
    }
    if (code !== undefined) this.#status = code === '0' ? 'ok' : statusError(code, message);
  }

  /** Undefined for status OK. */
  error(failure: StreamFailure | undefined): GrpcError | undefined {
    if (this.#status !== undefined) return this.#status === 'ok' ? undefined : this.#status;
    if (this.#httpStatus !== 200) {
      return new GrpcError(statusOfHttp(this.#httpStatus), `HTTP status ${this.#httpStatus}`);
    }
    return brokenOff(failure);
  }
}

function statusError(text: string, message: string): GrpcError {
  const code = Number.parseInt(text, 10);
  return new GrpcError(Number.isNaN(code) ? grpcStatus.UNKNOWN : code, decodeMessage(message));
}

/** Encoded headers of a call, and its deadline. */
export interface UnaryContext {
  readonly session: Http2Session;
  readonly head: Buffer;
  readonly deadlines: DeadlineTimer;
  /** Monotonic ms. */
  readonly dueMs: number;
}

/** The response to one request; rejects with GrpcErrors. */
export function callUnary(call: UnaryCall, context: UnaryContext): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    new Unary(call, context, resolve, reject);
  });
}

class Unary implements StreamHandler, Expiring {
  readonly dueMs: number;
  place = -1;
  readonly #resolve: (answer: Buffer) => void;
  readonly #reject: (error: GrpcError) => void;
  readonly #deadlines: DeadlineTimer;
  readonly #signal: Cancellation | undefined;
  readonly #stream: Http2Stream;
  readonly #outcome = new Outcome();
  readonly #frames = new FrameReader(answerLimits);
  #answer: Buffer | undefined;

  constructor(
    { request, prompt, signal }: UnaryCall,
    { session, head, deadlines, dueMs }: UnaryContext,
    resolve: (answer: Buffer) => void,
    reject: (error: GrpcError) => void,
  ) {
    this.dueMs = dueMs;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadlines = deadlines;
    this.#signal = signal;
    this.#stream = session.open(head, frameMessage(request), true, this);
    if (prompt === true) session.flush();
    deadlines.add(this);
    signal?.addEventListener('abort', this, { once: true });
  }

  headers(fields: readonly HeaderField[]): void {
    this.#outcome.headers(fields);
  }

  data(chunk: Buffer): void {
    this.#stream.took(chunk.length);
    try {
      this.#answer = this.#frames.push(chunk)[0] ?? this.#answer;
    } catch (error) {
      this.#giveUp(asGrpcError(error));
    }
  }

  ended(failure: StreamFailure | undefined): void {
    this.#leave();
    const error = this.#outcome.error(failure);
    if (error !== undefined) this.#reject(error);
    else if (this.#answer === undefined) {
      this.#reject(new GrpcError(grpcStatus.INTERNAL, 'response without a message'));
    } else this.#resolve(this.#answer);
  }

  expire(): void {
    this.#giveUp(new GrpcError(grpcStatus.DEADLINE_EXCEEDED, 'Deadline exceeded'));
  }

  /** The caller's signal aborted. */
  handleEvent(): void {
    this.#giveUp(new GrpcError(grpcStatus.CANCELLED, 'the call was cancelled'));
  }

  #giveUp(error: GrpcError): void {
    this.#leave();
    this.#stream.reset(resetCode.CANCEL);
    this.#reject(error);
  }

  #leave(): void {
    this.#deadlines.delete(this);
    this.#signal?.removeEventListener('abort', this);
  }
}

/** Opens a stream whose messages are read at the caller's pace: HTTP/2 flow control slows the server down. */
export function callStream(session: Http2Session, head: Buffer): GrpcStream {
  const incoming = new Incoming();
  const stream = session.open(head, nothing, false, incoming);
  const cancel = () => {
    stream.reset(resetCode.CANCEL);
    incoming.cancelled();
  };
  return {
    write: (message) => stream.write(frameMessage(message)),
    cancel,
    async *[Symbol.asyncIterator]() {
      const frames = new FrameReader(answerLimits);
      try {
        for (;;) {
          const chunk = await incoming.next();
          if (chunk === undefined) break;
          stream.took(chunk.length);
          yield* frames.push(chunk);
        }
      } finally {
        cancel();
      }
      const { error } = incoming;
      if (error !== undefined) throw error;
    },
  };
}

/** Unread chunks of a stream, bounded by its window. */
class Incoming implements StreamHandler {
  readonly #outcome = new Outcome();
  readonly #chunks: Buffer[] = [];
  #over = false;
  #error: GrpcError | undefined;
  #wake: (() => void) | undefined;

  /** Why it ended; undefined for status OK. */
  get error(): GrpcError | undefined {
    return this.#error;
  }

  /** Undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0 && !this.#over) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#chunks.shift();
  }

  /** This side cancelled the stream. */
  cancelled(): void {
    this.#chunks.length = 0;
    this.#end(new GrpcError(grpcStatus.UNAVAILABLE, 'the call was cancelled'));
  }

  headers(fields: readonly HeaderField[]): void {
    this.#outcome.headers(fields);
  }

  data(chunk: Buffer): void {
    this.#chunks.push(chunk);
    // A chunk keeps the whole received buffer alive, which is much larger if the server sends small pieces.
    if (this.#chunks.length > maxChunks) this.#chunks.splice(0, maxChunks + 1, Buffer.concat(this.#chunks));
    this.#wake?.();
  }

  ended(failure: StreamFailure | undefined): void {
    this.#end(this.#outcome.error(failure));
  }

  #end(error: GrpcError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = error;
    this.#wake?.();
  }
}

/** The error of a stream that ended without a status. */
function brokenOff(failure: StreamFailure | undefined): GrpcError {
  const { code, sent = true, cause } = failure ?? {};
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  switch (code) {
    case resetCode.REFUSED_STREAM:
      return new GrpcError(grpcStatus.UNAVAILABLE, 'the server refused the stream', { sent: false, cause });
    case resetCode.CANCEL:
      return new GrpcError(grpcStatus.UNAVAILABLE, `the server cancelled the call${why}`, { sent, cause });
    case resetCode.ENHANCE_YOUR_CALM:
      return new GrpcError(grpcStatus.RESOURCE_EXHAUSTED, 'the server requested fewer calls', { sent, cause });
    default:
      return new GrpcError(grpcStatus.UNAVAILABLE, `the connection was lost${why}`, { sent, cause });
  }
}

function asGrpcError(error: unknown): GrpcError {
  return error instanceof GrpcError ? error : new GrpcError(grpcStatus.INTERNAL, String(error), { cause: error });
}
