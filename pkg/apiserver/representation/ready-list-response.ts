import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { ReadyList } from '#apiserver/representation/ready-list.js';
import { gzipHeaders, gzipThresholdBytes } from '#apiserver/representation/streaming.js';
import { largeBodyBytes, PartsBody, SeparatedParts } from '#http/server/body.js';
import type { Entry } from '#storage/resource-storage.js';

export interface ReadyListOptions {
  readonly contentType: string;
  /** Where compressed blocks are kept; absent: the client takes no gzip, or the list is a choice of objects. */
  readonly compressed: CompressedLists | undefined;
  /** There may be many objects. */
  readonly turns: Pick<TurnQueue, 'pause'>;
}

export async function readyListResponse(
  list: ReadyList,
  { contentType, compressed, turns }: ReadyListOptions,
): Promise<ApiResponse> {
  const headers: Record<string, string> = { 'content-type': contentType };
  const { head, entries, bytesOf, skipped, separator, tail } = list;
  const itemAt = (index: number) => bytesOf(entries[index] as Entry);
  const parts = new SeparatedParts({ head, count: entries.length, itemAt, skipped, separator, tail });
  // To look at each object of a large list twice would cost as much as to copy it.
  const upTo = compressed === undefined ? largeBodyBytes : gzipThresholdBytes;
  const length = await parts.lengthUpTo(upTo, turns);
  if (length < gzipThresholdBytes) return { status: 200, headers, body: parts.joined(length) };
  if (compressed !== undefined) {
    return { status: 200, headers: { ...headers, ...gzipHeaders }, body: compressed.body(list) };
  }
  const isLarge = length >= largeBodyBytes;
  return { status: 200, headers, body: new PartsBody(parts, isLarge ? { isLarge } : { length }) };
}
