/** Who sends the page's requests: the loopback server's user, or the bearer of a token that only this page's memory holds. */
import { HttpRequests, failureOf } from '#dashboard/client/platform/http.js';
import type { Credentials } from '#dashboard/model/messages.js';

export interface SessionInfo {
  /** `local`: a loopback server with the credentials of a client configuration. */
  readonly mode: 'local' | 'token';
  /** The context of the client configuration. */
  readonly context?: string;
  readonly namespace?: string;
  /** Whether ports can be forwarded to this machine. */
  readonly forwards?: boolean;
}

export interface Session {
  readonly info: SessionInfo;
  readonly credentials: Credentials;
}

const header = { 'x-orch-dashboard': '1' };

/** Throws RequestError: 401 where the link's secret is missing or old. */
export async function openSession(): Promise<SessionInfo> {
  const secret = takeSecret();
  const response =
    secret === undefined
      ? await fetch('/ui/session', { headers: header, cache: 'no-store' })
      : await fetch('/ui/session', { method: 'POST', headers: header, body: secret, cache: 'no-store' });
  if (!response.ok) throw failureOf(response.status, await response.text());
  return (await response.json()) as SessionInfo;
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
