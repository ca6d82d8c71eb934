/**
 * The dashboard's files below `/ui/`, before authentication: they are the same for all users, and the page that asks for a token
 * is one of them. Its requests of the API carry the token, like those of any other client.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { beginLogin, type DashboardLogin, finishLogin, loginPath, tokenPath } from '#apiserver/http/dashboard-login.js';
import type { ApiRequest, ApiResponse, PromptHandler } from '#apiserver/http/exchange.js';
import { Assets } from '#dashboard/server/assets.js';
import { pageHeaders } from '#dashboard/server/page-headers.js';

const sessionPath = '/ui/session';

/** `login`: at an OpenID Connect provider; absent: by token only. */
export interface DashboardOptions {
  readonly login: DashboardLogin | undefined;
}

/** The handler, with the dashboard's files. Throws an Error if the dashboard has not been built. */
export function withDashboard(handler: PromptHandler, { login }: DashboardOptions): PromptHandler {
  const assets = new Assets();
  const session = Buffer.from(JSON.stringify({ mode: 'token', hasProvider: login !== undefined }));
  return (request): MaybePromise<ApiResponse> =>
    request.url.startsWith('/ui') ? (own(request, { assets, session, login }) ?? handler(request)) : handler(request);
}

interface Own extends DashboardOptions {
  readonly assets: Assets;
  readonly session: Buffer;
}

function own(request: ApiRequest, { assets, session, login }: Own): MaybePromise<ApiResponse> | undefined {
  const { method, url } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  if (login !== undefined && path === loginPath && method === 'GET') return beginLogin(request, login);
  if (login !== undefined && path === tokenPath && method === 'POST') return finishLogin(request, login);
  return method === 'GET' || method === 'HEAD' ? fileFor(request, path, { assets, session }) : undefined;
}

function fileFor(
  { headers }: ApiRequest,
  path: string,
  { assets, session }: Pick<Own, 'assets' | 'session'>,
): ApiResponse | undefined {
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
