/**
 * Authenticates requests to a daemon by front-proxy headers, client certificate or bearer token, else as anonymous.
 * Order and outcomes are those of 1.24's delegated authentication: a wrong credential is refused, one that cannot be
 * checked is ignored.
 */
import { createHash, X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { TokenReview } from '#api/authentication/v1/types.gen.js';
import { type Clock, processClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { CertificateAuthorities } from '#daemon/serving/certificate-authorities.js';
import { ExpiringCache } from '#daemon/serving/expiring-cache.js';
import { headerValues } from '#daemon/serving/header-values.js';
import { anonymousUser, type ReviewClient, type ServingUser } from '#daemon/serving/user.js';

export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternating, as received. */
  readonly rawHeaders?: readonly string[];
  /** DER of the certificate that the client proved to own in the TLS handshake. */
  readonly clientCertificate?: Buffer | undefined;
}

/** Identifies the user. Rejects with 401 Unauthorized for wrong credentials. */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<ServingUser>;
}

export interface RequestHeaderOptions {
  readonly authorities: CertificateAuthorities;
  /** Common names that may act for other users; empty: all verified ones. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

export interface AuthenticatorOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly clientAuthorities?: CertificateAuthorities | undefined;
  readonly requestHeader?: RequestHeaderOptions | undefined;
  /** Checks bearer tokens; without it tokens are ignored. */
  readonly reviewClient?: ReviewClient | undefined;
  readonly tokenTtlMs: number;
  /** False refuses requests without credentials, as a node agent without anonymous access does. */
  readonly anonymous?: boolean;
}

const cacheLimit = 4096;

export class DelegatedAuthenticator implements Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #tokens: ExpiringCache<ServingUser | undefined>;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    const { clock, tokenTtlMs } = options;
    this.#tokens = new ExpiringCache({ clock, limit: cacheLimit, ttlMs: () => tokenTtlMs });
  }

  /**
   * One valid credential is enough. Rejects with 401 Unauthorized if all credentials are wrong, and with the client's
   * errors if a token cannot be checked.
   */
  async authenticate(credentials: Credentials): Promise<ServingUser> {
    const certificate = this.#certificateUser(credentials);
    if (certificate !== undefined && certificate !== 'unknown') return authenticated(certificate);
    const token = bearerToken(credentials.headers);
    if (token !== undefined && this.#options.reviewClient !== undefined) {
      const user = await this.#tokenUser(token, this.#options.reviewClient);
      if (user === undefined) throw unauthorized();
      return authenticated(user);
    }
    if (certificate === 'unknown' || this.#options.anonymous === false) throw unauthorized();
    return anonymousUser;
  }

  /** `unknown`: no configured authority signed the certificate. */
  #certificateUser(credentials: Credentials): ServingUser | 'unknown' | undefined {
    const { requestHeader, clientAuthorities, clock } = this.#options;
    const { clientCertificate } = credentials;
    if (clientCertificate === undefined || (requestHeader === undefined && clientAuthorities === undefined)) {
      return undefined;
    }
    const certificate = new X509Certificate(clientCertificate);
    // Certificates are of the process's time, as in TLS itself.
    const nowMs = processClock(clock).now();
    if (requestHeader?.authorities.verifies(certificate, nowMs)) {
      const spokenFor = headerUser(credentials, certificate, requestHeader);
      if (spokenFor !== undefined) return spokenFor;
    }
    return clientAuthorities?.verifies(certificate, nowMs) ? subjectUser(certificate) : 'unknown';
  }

  #tokenUser(token: string, client: ReviewClient): Promise<ServingUser | undefined> {
    // Hashed, so that the cache is not a list of valid tokens.
    const key = createHash('sha256').update(token).digest('base64');
    return this.#tokens.get(key, async () => {
      const { dialect } = this.#options;
      const apiVersion = dialect.apiVersion('authentication', 'v1');
      const review: TokenReview = { apiVersion, kind: 'TokenReview', metadata: {}, spec: { token } };
      const { status } = await client.request<TokenReview>('POST', `/apis/${apiVersion}/tokenreviews`, review);
      if (status?.authenticated !== true || status.user?.username === undefined) return undefined;
      const { username, uid, groups = [], extra } = status.user;
      return {
        name: username,
        groups,
        ...(uid === undefined ? {} : { uid }),
        ...(extra === undefined ? {} : { extra: extra as Record<string, string[]> }),
      };
    });
  }
}

function authenticated(user: ServingUser): ServingUser {
  const group = 'system:authenticated';
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}

function bearerToken(headers: IncomingHttpHeaders): string | undefined {
  const match = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '');
  return match?.[1];
}

/** The common name is the user, organizations are groups. */
function subjectUser(certificate: X509Certificate): ServingUser | undefined {
  const name = subjectParts(certificate, 'CN').at(-1);
  return name === undefined ? undefined : { name, groups: subjectParts(certificate, 'O') };
}

function subjectParts(certificate: X509Certificate, part: 'CN' | 'O'): string[] {
  const values = certificate.toLegacyObject().subject[part] as string | string[] | undefined;
  return values === undefined ? [] : [values].flat();
}

function headerUser(
  credentials: Credentials,
  certificate: X509Certificate,
  options: RequestHeaderOptions,
): ServingUser | undefined {
  const common = subjectParts(certificate, 'CN').at(-1) ?? '';
  if (options.allowedNames.length > 0 && !options.allowedNames.includes(common)) return undefined;
  const name = options.usernameHeaders
    .map((header) => headerValues(credentials, header.toLowerCase())[0])
    .find((value) => value !== undefined);
  if (name === undefined) return undefined;
  const extra = new Map<string, string[]>();
  for (const prefix of options.extraPrefixes) {
    for (const header of Object.keys(credentials.headers)) {
      if (!header.startsWith(prefix.toLowerCase())) continue;
      extra.set(unescapeKey(header.slice(prefix.length)), headerValues(credentials, header));
    }
  }
  const groups = options.groupHeaders.flatMap((header) => headerValues(credentials, header.toLowerCase()));
  return { name, groups, extra: Object.fromEntries(extra) };
}

/** Keys of extras are percent-encoded, because header names allow few characters. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Not encoded: use the key as it is.
    return key;
  }
}
