/**
 * What a loopback server accepts from browsers. Other sites may send requests to it (CSRF), let a name of theirs point to it
 * (DNS rebinding) or frame it; other users of the machine may connect to its port. Pure.
 */
import { timingSafeEqual } from 'node:crypto';

export interface BrowserRequest {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly isUpgrade: boolean;
}

export interface GuardRules {
  /** Where the server listens: `127.0.0.1:7724` and the same port of `localhost`. */
  readonly hosts: readonly string[];
  readonly cookie: string;
  readonly session: string;
}

/** The header of the page's own requests; other sites could send it only after a preflight, which is refused. */
const ownHeader = 'x-orch-dashboard';

/** Why the request is refused; undefined: it is accepted. */
export function refusal(request: BrowserRequest, { hosts, cookie, session }: GuardRules): string | undefined {
  const { method, path, headers, isUpgrade } = request;
  const host = text(headers['host']);
  if (!hosts.includes(host)) return 'this host name is not the dashboard’s';
  const origin = text(headers['origin']);
  if (origin !== '' && origin !== `http://${host}`) return 'another site sent this request';
  const site = text(headers['sec-fetch-site']);
  const isOwn = site === '' || site === 'same-origin' || site === 'none';
  if (isFile(method, path)) {
    // A link on another site may lead here; what it shows needs the cookie, which such a request does not carry.
    const isVisit = text(headers['sec-fetch-mode']) === 'navigate' && text(headers['sec-fetch-dest']) === 'document';
    return isOwn || isVisit ? undefined : 'another site sent this request';
  }
  if (!isOwn) return 'another site sent this request';
  // Browsers set no headers of WebSockets, but always an origin.
  if (isUpgrade ? origin === '' : text(headers[ownHeader]) === '')
    return 'the dashboard’s page did not send this request';
  if (path === '/ui/session' && method === 'POST') return undefined;
  return hasSession(text(headers['cookie']), cookie, session) ? undefined : 'open the link that orchctl ui has printed';
}

/** The dashboard's own files, which are not secret. */
function isFile(method: string, path: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return path === '/ui' || (path.startsWith('/ui/') && !/^\/ui\/(?:session|stream|forwards)(?:\/|$)/.test(path));
}

function hasSession(cookies: string, name: string, session: string): boolean {
  return cookies
    .split('; ')
    .some((each) => each.startsWith(`${name}=`) && isSameSecret(each.slice(name.length + 1), session));
}

/** In the same time for every wrong text of that length. */
export function isSameSecret(text: string, secret: string): boolean {
  const [a, b] = [Buffer.from(text), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function text(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}
