/** The two steps of a login at an OpenID Connect provider, below `/ui/`. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { pageHeaders } from '#dashboard/server/page-headers.js';

/** See `CodeExchange`. */
export interface DashboardLogin {
  begin(redirect: string): Promise<{ readonly address: string; readonly kept: string }>;
  finish(
    kept: string,
    answer: { readonly code: string; readonly state: string; readonly redirect: string },
  ): Promise<string>;
}

export const loginPath = '/ui/login';
export const tokenPath = '/ui/login/token';
/** A page of the dashboard, whose script asks for the token. */
const returnPath = '/ui/login/return';

/** Browsers accept this prefix only with `Secure`, `Path=/` and without a domain. */
const cookie = '__Host-orch-login';
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict';
const keptSeconds = 600;
const maxBodyBytes = 8192;
const host = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

export async function beginLogin({ headers }: ApiRequest, login: DashboardLogin): Promise<ApiResponse> {
  const redirect = redirectOf(headers);
  if (redirect === undefined) return refusal(400, 'the host name is malformed');
  try {
    const { address, kept } = await login.begin(redirect);
    return {
      ...{ status: 302, headers: { ...pageHeaders, location: address }, body: undefined },
      cookies: [`${cookie}=${kept}; ${attributes}; Max-Age=${keptSeconds}`],
    };
  } catch (error) {
    return refusal(502, messageOf(error));
  }
}

/** The page's request for the token, of the code that the provider put into the page's address. */
export async function finishLogin(request: ApiRequest, login: DashboardLogin): Promise<ApiResponse> {
  const { headers } = request;
  const redirect = redirectOf(headers);
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  // Other sites cannot set the header without a preflight, which is refused.
  if (redirect === undefined || headers['x-orch-dashboard'] === undefined || site !== 'same-origin')
    return refusal(403, 'another site sent this request');
  const kept = (headers['cookie'] ?? '').split('; ').find((each) => each.startsWith(`${cookie}=`));
  const { code, state } = answerIn(await bodyOf(request));
  if (kept === undefined || code === '') return refusal(403, 'this browser did not begin this login');
  const cookies = [`${cookie}=; ${attributes}; Max-Age=0`];
  try {
    const token = await login.finish(kept.slice(cookie.length + 1), { code, state, redirect });
    const body = Buffer.from(JSON.stringify({ token }));
    return { status: 200, headers: { ...pageHeaders, 'content-type': 'application/json' }, body, cookies };
  } catch (error) {
    return { ...refusal(403, messageOf(error)), cookies };
  }
}

function redirectOf(headers: ApiRequest['headers']): string | undefined {
  const name = headers['host'] ?? headers[':authority'] ?? '';
  return host.test(name) ? `https://${name}${returnPath}` : undefined;
}

async function bodyOf({ headers, body, readBody }: ApiRequest): Promise<string> {
  if (Number(headers['content-length'] ?? maxBodyBytes + 1) > maxBodyBytes) return '';
  return (readBody === undefined ? body : await readBody()).toString('utf8');
}

function answerIn(text: string): { readonly code: string; readonly state: string } {
  try {
    const { code, state } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (typeof code === 'string' && typeof state === 'string') return { code, state };
  } catch {
    // Not sent by the page.
  }
  return { code: '', state: '' };
}

function refusal(status: number, message: string): ApiResponse {
  const headers = { ...pageHeaders, 'content-type': 'text/plain; charset=utf-8' };
  return { status, headers, body: Buffer.from(`${message}\n`) };
}
