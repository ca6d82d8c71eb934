/** Requests that live as long as their client wants: no time limit, no place among those in flight. */
import type { RequestInfo } from '#apiserver/http/request-info.js';

const subresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

export function isLongRunning(info: Pick<RequestInfo, 'resourceRequest' | 'verb' | 'subresource'>): boolean {
  return info.resourceRequest && (info.verb === 'watch' || info.verb === 'proxy' || subresources.has(info.subresource));
}
