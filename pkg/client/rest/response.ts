/** From a response to a value or to the error that the server gave. */

import { isAscii } from 'node:buffer';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { type Status, StatusError, type StatusReason } from '#apimachinery/errors/status.js';
import type { TransportResponse } from '#client/rest/transport.js';
import { TransportError } from '#http/client/transport-error.js';

/** The whole body. Throws TransportError, and reads no further, where it is longer than `maxBytes`. */
export async function readAll(body: AsyncIterable<Buffer>, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new TransportError('Protocol', `the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** The body as JSON; an empty one is undefined. Throws TransportError where it is something else. */
export function parseJson(bytes: Buffer): unknown {
  // Large texts of single bytes are kept outside of the heap, where they are no work for the garbage collection.
  return bytes.length === 0 ? undefined : jsonIn(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8'));
}

/** What the text says. Throws TransportError where it is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return parseJSONText(text);
  } catch (error) {
    throw new TransportError('Protocol', 'the answer is not JSON', { cause: error });
  }
}

const reasons: Readonly<Record<number, StatusReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Seconds of a Retry-After header; undefined when there is none or it is a date. */
export function retryAfterSeconds(response: Pick<TransportResponse, 'headers'>): number | undefined {
  const text = response.headers['retry-after']?.trim();
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Reads the objects of answers. */
export interface AnswerDecoder {
  decode(contentType: string | undefined, bytes: Buffer): unknown;
}

/** The failure that a response of 400 and above carries: its Status, or one made from the code and the text. */
export function errorFrom(
  response: Pick<TransportResponse, 'status' | 'headers'>,
  bytes: Buffer,
  decoder: AnswerDecoder,
): StatusError {
  const retryAfter = retryAfterSeconds(response);
  const status = statusIn(response.headers['content-type'], bytes, decoder) ?? {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: textOf(bytes) || `the server answered with status ${response.status}`,
    reason: reasons[response.status] ?? '',
  };
  status.code ??= response.status;
  if (retryAfter !== undefined && status.details?.retryAfterSeconds === undefined) {
    status.details = { ...status.details, retryAfterSeconds: retryAfter };
  }
  return new StatusError(status);
}

function statusIn(contentType: string | undefined, bytes: Buffer, decoder: AnswerDecoder): Status | undefined {
  try {
    const value = decoder.decode(contentType, bytes);
    return isStatus(value) ? value : undefined;
  } catch {
    // A proxy's page, or a plain text: the caller makes a Status of it.
    return undefined;
  }
}

/** True for an object of kind Status. */
export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

/** At most this much of a foreign error page goes into a message. */
const maxTextBytes = 2048;

function textOf(bytes: Buffer): string {
  return bytes.subarray(0, maxTextBytes).toString('utf8').trim();
}
