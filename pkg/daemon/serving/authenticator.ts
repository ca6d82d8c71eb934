/**
 * Who asks a daemon: by front-proxy headers, client certificate or bearer token, else nobody in particular.
 * The order and the outcomes are those of release 1.24's delegated authentication: a credential that is wrong is
 * refused, one that nothing here can check is ignored.
 */
import { createHash, X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { TokenReview } from '#api/authentication/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { CertificateAuthorities } from '#daemon/serving/certificate-authorities.js';
import { ExpiringCache } from '#daemon/serving/expiring-cache.js';
import { headerValues } from '#daemon/serving/header-values.js';
import { anonymousUser, type ReviewClient, type ServingUser } from '#daemon/serving/user.js';

export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders?: readonly string[];
  /** DER, as the TLS handshake proved it to be the client's. */
  readonly clientCertificate?: Buffer | undefined;
}

/** Says who asks. Rejects with 401 Unauthorized for wrong credentials. */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<ServingUser>;
}

export interface RequestHeaderOptions {
  readonly authorities: CertificateAuthorities;
  /** Common names that may speak for others; empty: every verified one. */
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
  /** Checks bearer tokens; without it they are ignored. */
  readonly reviewClient?: ReviewClient | undefined;
  readonly tokenTtlMs: number;
  /** Refuse requests without credentials, as a node agent without anonymous access does. */
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
   * One good credential is enough, whatever the others are. Rejects with 401 Unauthorized when there are only wrong ones;
   * with the client's errors when a token cannot be checked.
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

  /** `unknown`: nobody here vouches for the certificate. */
  #certificateUser(credentials: Credentials): ServingUser | 'unknown' | undefined {
    const { requestHeader, clientAuthorities, clock } = this.#options;
    const { clientCertificate } = credentials;
    if (clientCertificate === undefined || (requestHeader === undefined && clientAuthorities === undefined)) {
      return undefined;
    }
    const certificate = new X509Certificate(clientCertificate);
    const nowMs = clock.now();
    if (requestHeader?.authorities.verifies(certificate, nowMs)) {
      const spokenFor = headerUser(credentials, certificate, requestHeader);
      if (spokenFor !== undefined) return spokenFor;
    }
    return clientAuthorities?.verifies(certificate, nowMs) ? subjectUser(certificate) : 'unknown';
  }

  #tokenUser(token: string, client: ReviewClient): Promise<ServingUser | undefined> {
    // The cache must not be a list of valid tokens.
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

/** The common name is the user, the organizations are the groups. */
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

/** Keys of extras are percent-encoded, since header names allow little. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Not encoded after all: the key is what it looks like.
    return key;
  }
}
