/** Files in a bucket of an S3-compatible store. Requests address buckets by path, which every such store understands. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { emptyHash, encoded, type S3Credentials, signedHeaders } from '#cluster/backup/s3/signature.js';
import { completion, textOf, textsOf } from '#cluster/backup/s3/xml.js';

export interface BucketOptions {
  /** `https://s3.eu-central-1.amazonaws.com`, `http://127.0.0.1:9000`. */
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  readonly credentials: S3Credentials;
  readonly clock: Clock;
  /** Size of the parts of a large file, bytes; at least 5 MiB, and at most 10,000 parts. Default: 64 MiB. */
  readonly partBytes?: number;
}

/** An answer of the store that is no success, or no answer. */
export class BucketError extends Error {
  override readonly name = 'BucketError';
  /** HTTP status; 0 without an answer. */
  readonly status: number;

  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

interface Body {
  readonly hash: string;
  readonly bytes: number;
  open(): Readable;
}

interface Question {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Body;
}

const attempts = 4;
const firstPauseMs = 500;
/** Longest silence of the store, ms. */
const idleMs = 60_000;
const maxTextBytes = 4 * 1024 * 1024;
/** Pages of a listing, of a thousand names each. */
const maxPages = 1000;
const usualPartBytes = 64 * 1024 * 1024;

export class Bucket {
  readonly #options: BucketOptions;

  constructor(options: BucketOptions) {
    this.#options = options;
  }

  /** Names of all objects that begin with the prefix, sorted. Rejects with a BucketError. */
  async list(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    let token: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const query = { 'list-type': '2', prefix, ...(token === undefined ? {} : { 'continuation-token': token }) };
      const text = await this.#text({ method: 'GET', key: '', query });
      keys.push(...textsOf(text, 'Contents').map((each) => textOf(each, 'Key') ?? ''));
      token = textOf(text, 'IsTruncated') === 'true' ? textOf(text, 'NextContinuationToken') : undefined;
      if (token === undefined) return keys.sort();
    }
    throw new BucketError(`${this.#options.bucket} has more than ${maxPages * 1000} objects at ${prefix}`, 0);
  }

  /** Stores a file; a reader sees all of it or nothing. Rejects with a BucketError and the file system's errors. */
  async put(key: string, file: string): Promise<void> {
    const { size } = await stat(file);
    const partBytes = this.#options.partBytes ?? usualPartBytes;
    if (size > partBytes) return this.#putParts(key, file, size, partBytes);
    await this.#text({ method: 'PUT', key, body: await fileBody(file, 0, size) });
  }

  async #putParts(key: string, file: string, size: number, partBytes: number): Promise<void> {
    const started = await this.#text({ method: 'POST', key, query: { uploads: '' } });
    const uploadId = textOf(started, 'UploadId');
    if (uploadId === undefined) throw new BucketError(`no UploadId for ${key}`, 0);
    try {
      const tags: string[] = [];
      for (let from = 0; from < size; from += partBytes) {
        const body = await fileBody(file, from, Math.min(partBytes, size - from));
        const query = { partNumber: String(tags.length + 1), uploadId };
        tags.push(await this.#ask({ method: 'PUT', key, query, body }, async ({ headers }) => headers.etag ?? ''));
      }
      const text = Buffer.from(completion(tags));
      const answer = await this.#text({ method: 'POST', key, query: { uploadId }, body: textBody(text) });
      // The status is sent before the store has joined the parts.
      if (textOf(answer, 'ETag') === undefined) throw new BucketError(`${key}: ${problemOf(answer)}`, 200);
    } catch (error) {
      await this.#text({ method: 'DELETE', key, query: { uploadId } }).catch((problem: unknown) => {
        throw new BucketError(`${messageOf(error)}; its parts stay: ${messageOf(problem)}`, 0, { cause: error });
      });
      throw error;
    }
  }

  /** Writes an object into a new file. Rejects with a BucketError, and where the object is larger than the limit. */
  async get(key: string, file: string, maxBytes: number): Promise<void> {
    await this.#ask({ method: 'GET', key }, async (answer) => {
      let left = maxBytes;
      const bounded = new Transform({
        transform(piece: Buffer, _, done) {
          left -= piece.length;
          done(left < 0 ? new BucketError(`${key} has more than ${maxBytes} bytes`, 200) : null, piece);
        },
      });
      await pipeline(answer, bounded, createWriteStream(file, { mode: 0o600 }));
    });
  }

  /** No error for a missing object. */
  async remove(key: string): Promise<void> {
    await this.#text({ method: 'DELETE', key });
  }

  async #text(question: Question): Promise<string> {
    return this.#ask(question, readText);
  }

  /** Repeats after failures that pass: no answer, an overloaded store. */
  async #ask<T>(question: Question, read: (answer: IncomingMessage) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#askOnce(question, read);
      } catch (error) {
        const passes = error instanceof BucketError && (error.status === 0 || error.status >= 500);
        if (!passes || attempt === attempts) throw error;
      }
      await this.#options.clock.sleep(firstPauseMs * 2 ** (attempt - 1));
    }
  }

  async #askOnce<T>(
    { method, key, query = {}, body }: Question,
    read: (answer: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    const { endpoint, bucket, credentials, region, clock } = this.#options;
    const path = [
      endpoint.pathname.replace(/\/+$/, ''),
      bucket,
      ...(key === '' ? [] : key.split('/').map(encoded)),
    ].join('/');
    const search = Object.entries(query)
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .join('&');
    const url = new URL(`${endpoint.origin}${path}${search === '' ? '' : `?${search}`}`);
    const payloadHash = body?.hash ?? emptyHash;
    const signed = signedHeaders({ method, url, payloadHash }, { credentials, region, now: new Date(clock.now()) });
    const headers = { ...signed, 'content-length': String(body?.bytes ?? 0) };
    const answer = await send(url, { method, headers }, body?.open());
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299)
      throw new BucketError(
        `${method} ${url.origin}${url.pathname}: ${status} ${problemOf(await readText(answer))}`,
        status,
      );
    return read(answer);
  }
}

function send(
  url: URL,
  options: { readonly method: string; readonly headers: Record<string, string> },
  body: Readable | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const begin = url.protocol === 'https:' ? requestHttps : requestHttp;
    const failed = (error: Error) =>
      reject(new BucketError(`${options.method} ${url.origin}${url.pathname}: ${error.message}`, 0, { cause: error }));
    const request = begin(url, { ...options, timeout: idleMs }, resolve);
    request.on('timeout', () => request.destroy(new Error(`no answer within ${idleMs / 1000} seconds`)));
    request.on('error', failed);
    if (body === undefined) request.end();
    else pipeline(body, request).catch(failed);
  });
}

async function readText(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > maxTextBytes) throw new BucketError(`an answer has more than ${maxTextBytes} bytes`, 200);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** `NoSuchBucket: The specified bucket does not exist`. */
function problemOf(text: string): string {
  const code = textOf(text, 'Code');
  return code === undefined ? text.slice(0, 200) : `${code}: ${textOf(text, 'Message') ?? ''}`;
}

async function fileBody(file: string, from: number, bytes: number): Promise<Body> {
  const open = () => (bytes === 0 ? Readable.from([]) : createReadStream(file, { start: from, end: from + bytes - 1 }));
  const hash = createHash('sha256');
  for await (const piece of open()) hash.update(piece as Buffer);
  return { hash: hash.digest('hex'), bytes, open };
}

function textBody(text: Buffer): Body {
  return {
    hash: createHash('sha256').update(text).digest('hex'),
    bytes: text.length,
    open: () => Readable.from([text]),
  };
}
