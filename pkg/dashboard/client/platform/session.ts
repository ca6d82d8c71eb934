/** Who sends the page's requests: the loopback server's user, or the bearer of a token that only this page's memory holds. */

import { browserClock } from '#dashboard/client/platform/browser-clock.js';
import { failureOf, HttpRequests } from '#dashboard/client/platform/http.js';
import type { Credentials } from '#dashboard/model/messages.js';
import { RequestError } from '#dashboard/model/trouble.js';

export interface SessionInfo {
  /** `local`: a loopback server with the credentials of a client configuration. */
  readonly mode: 'local' | 'token';
  /** The context of the client configuration. */
  readonly context?: string;
  readonly namespace?: string;
  /** Whether ports can be forwarded to this machine. */
  readonly forwards?: boolean;
  /** Whether users may log in at an OpenID provider. */
  readonly hasProvider?: boolean;
}

export interface Session {
  readonly info: SessionInfo;
  readonly credentials: Credentials;
}

const maxTries = 4;
const pauseMs = 200;
const header = { 'x-orch-dashboard': '1' };

/** Throws RequestError: 401 where the link's secret is missing or old. */
export async function openSession(): Promise<SessionInfo> {
  const secret = takeSecret();
  const ask = secret === undefined ? {} : { method: 'POST', body: secret };
  for (let tries = 1; ; tries++) {
    try {
      const response = await fetch('/ui/session', { headers: header, cache: 'no-store', ...ask });
      if (!response.ok) throw failureOf(response.status, await response.text());
      return (await response.json()) as SessionInfo;
    } catch (error) {
      if (error instanceof RequestError || tries > maxTries) throw error;
      await browserClock.sleep(pauseMs * tries);
    }
  }
}

const returnPath = '/ui/login/return';

/** Where a login at the provider begins. */
export const providerLink = '/ui/login';

/**
 * The token of the login from which the provider has sent the browser back; undefined on any other page. Throws RequestError for a
 * login that was refused.
 */
export async function finishLogin(): Promise<Credentials | undefined> {
  if (location.pathname !== returnPath) return undefined;
  const answer = new URLSearchParams(location.search);
  // The code no longer stands in the address, nor in the history.
  history.replaceState(null, '', '/ui/');
  const error = answer.get('error');
  if (error !== null) throw new RequestError(403, answer.get('error_description') ?? error);
  const response = await fetch('/ui/login/token', {
    method: 'POST',
    headers: { ...header, 'content-type': 'application/json' },
    body: JSON.stringify({ code: answer.get('code') ?? '', state: answer.get('state') ?? '' }),
    cache: 'no-store',
  });
  if (!response.ok) throw failureOf(response.status, await response.text());
  const { token } = (await response.json()) as { readonly token: string };
  return checkToken(token);
}

/** The secret of the link, which no longer stands in the address afterwards. */
function takeSecret(): string | undefined {
  const secret = /^#secret=([\w-]+)$/.exec(location.hash)?.[1];
  if (secret !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return secret;
}

/** Throws RequestError for a token that the server does not accept. */
export async function checkToken(token: string): Promise<Credentials> {
  const credentials: Credentials = { kind: 'bearer', token };
  await new HttpRequests(credentials).json('/apis');
  return credentials;
}
