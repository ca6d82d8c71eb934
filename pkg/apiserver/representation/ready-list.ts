/** Lists whose objects are encoded already: nothing is made for an answer but what stands before and behind them. */
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { PartsBody } from '#apiserver/http/parts-body.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import { gzipHeaders, gzipThresholdBytes } from '#apiserver/representation/streaming.js';
import type { Entry } from '#storage/resource-storage.js';

export interface ReadyList {
  /** Names the bytes of the objects: the same objects have the same bytes in lists of the same form. */
  readonly form: string;
  readonly head: Buffer;
  readonly entries: readonly Entry[];
  readonly bytesOf: (entry: Entry) => Buffer;
  /** Between two objects; empty where nothing is. */
  readonly separator: Buffer;
  readonly tail: Buffer;
}

export interface ReadyListOptions {
  readonly contentType: string;
  /** Where compressed blocks are kept; absent: the client takes no gzip, or the list is a choice of objects. */
  readonly compressed: CompressedLists | undefined;
}

export function readyListResponse(list: ReadyList, { contentType, compressed }: ReadyListOptions): ApiResponse {
  const headers: Record<string, string> = { 'content-type': contentType };
  const enough = compressed === undefined ? Number.POSITIVE_INFINITY : gzipThresholdBytes;
  const length = lengthOf(list, enough);
  if (compressed !== undefined && length >= enough) {
    return { status: 200, headers: { ...headers, ...gzipHeaders }, body: compressed.body(list) };
  }
  if (length < gzipThresholdBytes) return { status: 200, headers, body: Buffer.concat([...partsOf(list)], length) };
  return { status: 200, headers, body: new PartsBody(partsOf(list), { length }) };
}

/** Bytes of the list, or something from `enough` on. */
function lengthOf({ head, entries, bytesOf, separator, tail }: ReadyList, enough: number): number {
  let length = head.length + Math.max(0, entries.length - 1) * separator.length + tail.length;
  for (const entry of entries) {
    length += bytesOf(entry).length;
    if (length >= enough) break;
  }
  return length;
}

function* partsOf({ head, entries, bytesOf, separator, tail }: ReadyList): Generator<Buffer> {
  yield head;
  let first = true;
  for (const entry of entries) {
    if (!first && separator.length > 0) yield separator;
    first = false;
    yield bytesOf(entry);
  }
  yield tail;
}
