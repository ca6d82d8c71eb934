/** Converts a response to a value or to the server's error. */

import { isAscii } from 'node:buffer';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { type Status, StatusError, type StatusReason } from '#apimachinery/errors/status.js';
import { type TransportResponse, WholeBody } from '#client/rest/transport.js';
import { TransportError } from '#http/client/transport-error.js';

/** The whole body. Stops and throws TransportError if it is longer than `maxBytes`. */
export async function readAll(body: AsyncIterable<Buffer>, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  if (body instanceof WholeBody && body.bytes.length <= maxBytes) return body.bytes;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new TransportError('Protocol', `the response is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** Parses the body; undefined if it is empty. Throws TransportError if it is not JSON. */
export function parseJson(bytes: Buffer): unknown {
  // Large single-byte strings are stored outside the heap, where they cost the garbage collector nothing.
  return bytes.length === 0 ? undefined : jsonIn(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8'));
}

/** Parses the text. Throws TransportError if it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return parseJSONText(text);
  } catch (error) {
    throw new TransportError('Protocol', 'the response is not JSON', { cause: error });
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

/** Seconds of a Retry-After header; undefined if it is absent or a date. */
export function retryAfterSeconds(response: Pick<TransportResponse, 'headers'>): number | undefined {
  const text = response.headers['retry-after']?.trim();
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Decodes objects in responses. */
export interface ResponseDecoder {
  decode(contentType: string | undefined, bytes: Buffer): unknown;
}

/** The error of a response with status 400 or above: its Status, or one built from status code and text. */
export function errorFrom(
  response: Pick<TransportResponse, 'status' | 'headers'>,
  bytes: Buffer,
  decoder: ResponseDecoder,
): StatusError {
  const retryAfter = retryAfterSeconds(response);
  const status = statusIn(response.headers['content-type'], bytes, decoder) ?? {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: excerptOf(bytes) || `the server responded with status ${response.status}`,
    reason: reasons[response.status] ?? '',
  };
  status.code ??= response.status;
  if (retryAfter !== undefined && status.details?.retryAfterSeconds === undefined) {
    status.details = { ...status.details, retryAfterSeconds: retryAfter };
  }
  return new StatusError(status);
}

function statusIn(contentType: string | undefined, bytes: Buffer, decoder: ResponseDecoder): Status | undefined {
  try {
    const value = decoder.decode(contentType, bytes);
    return isStatus(value) ? value : undefined;
  } catch {
    // A proxy's page or plain text: the caller builds a Status.
    return undefined;
  }
}

/** Whether it is an object of kind Status. */
export function isStatus(value: unknown): value is Status {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

/** Limit of an error page's text in a message. */
const maxTextBytes = 2048;

function excerptOf(bytes: Buffer): string {
  return bytes.subarray(0, maxTextBytes).toString('utf8').trim();
}
