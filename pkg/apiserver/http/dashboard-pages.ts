/**
 * The dashboard's files below `/ui/`, before authentication: they are the same for all users, and the page that asks for a token
 * is one of them. Its requests of the API carry the token, like those of any other client.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ApiRequest, ApiResponse, PromptHandler } from '#apiserver/http/exchange.js';
import { Assets } from '#dashboard/server/assets.js';
import { pageHeaders } from '#dashboard/server/page-headers.js';

const sessionPath = '/ui/session';
const session = Buffer.from(JSON.stringify({ mode: 'token' }));

/** The handler, with the dashboard's files. Throws an Error if the dashboard has not been built. */
export function withDashboard(handler: PromptHandler): PromptHandler {
  const assets = new Assets();
  return (request): MaybePromise<ApiResponse> => fileFor(request, assets) ?? handler(request);
}

function fileFor({ method, url, headers }: ApiRequest, assets: Assets): ApiResponse | undefined {
  if (!url.startsWith('/ui') || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  if (path === sessionPath)
    return { status: 200, headers: { ...pageHeaders, 'content-type': 'application/json' }, body: session };
  const asset = assets.find(path);
  if (asset === undefined) return undefined;
  const { type, etag, body, compressed } = asset;
  const common = { ...pageHeaders, etag, vary: 'accept-encoding' };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common, body: undefined };
  const isCompressed = headers['accept-encoding']?.includes('gzip') === true;
  return {
    status: 200,
    headers: { ...common, 'content-type': type, ...(isCompressed ? { 'content-encoding': 'gzip' } : {}) },
    body: isCompressed ? compressed : body,
  };
}
