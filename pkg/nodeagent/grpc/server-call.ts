/** One gRPC call on the server's side: reads its request and sends its responses (gRPC over HTTP/2). */
import { status } from '@grpc/grpc-js';
import { messageOf } from '#apimachinery/errors/message.js';
import { frameMessage, prefixBytes } from '#http/grpc/frames.js';
import { encodeMessage } from '#http/grpc/status.js';
import { encodeHeaders, type HeaderField } from '#http/http2/hpack.js';
import type { ServerStream, ServerStreamHandler } from '#http/http2/server-stream.js';
import { CallError } from '#nodeagent/grpc/call-error.js';
import type { Message } from '#nodeagent/grpc/channel.js';

export interface ServerMethod {
  readonly handle: (request: Message, signal: AbortSignal) => AsyncIterable<Message>;
  readonly encode: (response: Message) => Buffer;
  /** Throws CallError. */
  readonly decode: (request: Buffer) => Message;
}

/** Requests of plugins have some hundred bytes; those of tests some thousand. */
const maxRequestBytes = 256 * 1024;
const head: readonly HeaderField[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

export class ServerCall implements ServerStreamHandler {
  readonly #stream: ServerStream;
  readonly #method: ServerMethod | undefined;
  readonly #gone = new AbortController();
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isAnswered = false;
  #hasHead = false;
  #onDrained: (() => void) | undefined;

  /** `method`: undefined for unknown ones. */
  constructor(stream: ServerStream, method: ServerMethod | undefined) {
    this.#stream = stream;
    this.#method = method;
  }

  /** Answers what is no gRPC call. */
  refuse(httpStatus: number): void {
    this.#isAnswered = true;
    this.#stream.head(encodeHeaders([[':status', String(httpStatus)]]), true);
  }

  data(chunk: Buffer): void {
    this.#stream.took(chunk.length);
    if (this.#isAnswered) return;
    this.#bytes += chunk.length;
    if (this.#bytes <= maxRequestBytes + prefixBytes) this.#chunks.push(chunk);
    else this.#end(new CallError({ code: status.RESOURCE_EXHAUSTED, message: 'the request is too large' }));
  }

  ended(): void {
    if (!this.#isAnswered) void this.#answer();
  }

  drained(): void {
    this.#onDrained?.();
  }

  closed(): void {
    this.#isAnswered = true;
    this.#gone.abort();
    this.#onDrained?.();
  }

  /** Never rejects. */
  async #answer(): Promise<void> {
    const { signal } = this.#gone;
    try {
      const { handle, encode, decode } = this.#method ?? missing();
      const request = decode(messageIn(Buffer.concat(this.#chunks)));
      this.#chunks.length = 0;
      for await (const response of handle(request, signal)) {
        if (signal.aborted) return;
        await this.#send(encode(response));
      }
      this.#end(undefined);
    } catch (error) {
      this.#end(error);
    }
  }

  /** Resolves once the client's windows took the message. */
  async #send(message: Buffer): Promise<void> {
    if (!this.#hasHead) this.#stream.head(encodeHeaders(head));
    this.#hasHead = true;
    if (this.#stream.write(frameMessage(message))) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    this.#onDrained = undefined;
  }

  #end(error: unknown): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    const trailers = error === undefined ? statusFields(status.OK, '') : errorFields(error);
    this.#stream.head(encodeHeaders(this.#hasHead ? trailers : [...head, ...trailers]), true);
  }
}

function missing(): never {
  throw new CallError({ code: status.UNIMPLEMENTED, message: 'unknown service or method' });
}

/** The only message of a request. Throws CallError. */
function messageIn(body: Buffer): Buffer {
  const isCompressed = body.length > 0 && body[0] !== 0;
  if (isCompressed) throw new CallError({ code: status.UNIMPLEMENTED, message: 'requests cannot be compressed' });
  const isWhole = body.length >= prefixBytes && body.readUInt32BE(1) === body.length - prefixBytes;
  if (!isWhole) throw new CallError({ code: status.INTERNAL, message: 'the request is not one message' });
  return body.subarray(prefixBytes);
}

function errorFields(error: unknown): HeaderField[] {
  if (error instanceof CallError) return statusFields(error.code, error.details);
  return statusFields(status.UNKNOWN, messageOf(error));
}

function statusFields(code: status, message: string): HeaderField[] {
  const fields: HeaderField[] = [['grpc-status', String(code)]];
  return message === '' ? fields : [...fields, ['grpc-message', encodeMessage(message)]];
}
