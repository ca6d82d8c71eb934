/** Authenticates users by the headers of a front proxy, which has a client certificate of its own. */
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { CertificatePool } from '#apiserver/authentication/certificate-pool.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { headerValues } from '#daemon/serving/header-values.js';

export interface RequestHeaderOptions {
  readonly pool: CertificatePool;
  /** Common names allowed in the proxy's certificate; empty: any name. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

export class RequestHeaderAuthenticator implements Authenticator {
  readonly #options: RequestHeaderOptions;

  constructor(options: RequestHeaderOptions) {
    const lower = (names: readonly string[]) => names.map((name) => name.toLowerCase());
    this.#options = {
      ...options,
      usernameHeaders: lower(options.usernameHeaders),
      groupHeaders: lower(options.groupHeaders),
      extraHeaderPrefixes: lower(options.extraHeaderPrefixes),
    };
  }

  /** Undefined for certificates that do not belong to a front proxy: they may be users' own. */
  authenticate(request: ApiRequest): UserInfo | undefined {
    const { pool, allowedNames, usernameHeaders, groupHeaders } = this.#options;
    if (request.clientCertificate === undefined) return undefined;
    const name = usernameHeaders.map((header) => request.headers[header] ?? '').find((value) => value !== '');
    if (name === undefined) return undefined;
    const verdict = pool.verify(request.clientCertificate);
    if (!verdict.ok) return undefined;
    if (allowedNames.length > 0 && !allowedNames.includes(verdict.subject.commonName)) return undefined;
    const groups = groupHeaders.flatMap((header) => headerValues(request, header));
    return { name, groups, extra: this.#extra(request), method: 'request-header' };
  }

  #extra(request: ApiRequest): Record<string, readonly string[]> {
    const extra = new Map<string, readonly string[]>();
    for (const prefix of this.#options.extraHeaderPrefixes)
      for (const header of Object.keys(request.headers)) {
        if (!header.startsWith(prefix) || header === prefix) continue;
        extra.set(decodeKey(header.slice(prefix.length)), headerValues(request, header));
      }
    return Object.fromEntries(extra);
  }
}

/** Decodes a key: percent-encoded, as header names allow few characters. Invalid encoding is taken literally. */
function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
