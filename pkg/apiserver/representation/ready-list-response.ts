import type { ApiResponse } from '#apiserver/http/exchange.js';
import { PartsBody, SeparatedParts } from '#apiserver/http/parts-body.js';
import type { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { ReadyList } from '#apiserver/representation/ready-list.js';
import { gzipHeaders, gzipThresholdBytes } from '#apiserver/representation/streaming.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Bytes } from '#storage/segments/segmented.js';

export interface ReadyListOptions {
  readonly contentType: string;
  /** Where compressed blocks are kept; absent: the client takes no gzip, or the list is a choice of objects. */
  readonly compressed: CompressedLists | undefined;
  /** Called now and then: there may be many objects. */
  readonly yieldTurn: () => Promise<void> | undefined;
}

/** Objects between looks at whether others should have a turn: few, since some are encoded only now. */
const slice = 16;

export async function readyListResponse(
  list: ReadyList,
  { contentType, compressed, yieldTurn }: ReadyListOptions,
): Promise<ApiResponse> {
  const headers: Record<string, string> = { 'content-type': contentType };
  const { head, entries, bytesOf, separator, tail } = list;
  const items: Bytes[] = [];
  let length = head.length + Math.max(0, entries.length - 1) * separator.length + tail.length;
  for (let i = 0; i < entries.length; i++) {
    const item = bytesOf(entries[i] as Entry);
    length += item.length;
    if (compressed !== undefined && length >= gzipThresholdBytes) {
      return { status: 200, headers: { ...headers, ...gzipHeaders }, body: compressed.body(list) };
    }
    items.push(item);
    if (i % slice !== slice - 1) continue;
    const turn = yieldTurn();
    if (turn !== undefined) await turn;
  }
  const parts = new SeparatedParts(head, items, separator, tail);
  const body = length < gzipThresholdBytes ? Buffer.concat([...parts], length) : new PartsBody(parts, { length });
  return { status: 200, headers, body };
}
