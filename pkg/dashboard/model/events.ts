/** Events of the API, old and new form. Pure. */
import type { ApiObject } from '#dashboard/model/api-object.js';

export interface EventObject extends ApiObject {
  readonly involvedObject: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string } | null;
}

export function seenMs({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: EventObject): number {
  const text = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp;
  return Date.parse(text ?? '');
}

export function timesSeen({ series, count }: EventObject): number {
  return series?.count ?? count ?? 1;
}
