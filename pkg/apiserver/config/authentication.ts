/** From options to the server's authenticators and its token issuer. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import { BearerTokenAuthenticator } from '#apiserver/authentication/bearer-token.js';
import { BootstrapTokenAuthenticator } from '#apiserver/authentication/bootstrap-token.js';
import type { CertificatePool } from '#apiserver/authentication/certificate-pool.js';
import { ClientCertificateAuthenticator } from '#apiserver/authentication/client-certificate.js';
import { AuthenticationMetrics, secretTokenUses, tokenCacheMetrics } from '#apiserver/authentication/metrics.js';
import { RequestHeaderAuthenticator } from '#apiserver/authentication/request-header.js';
import { SecretTokenAuthenticator } from '#apiserver/authentication/secret-token.js';
import { ServiceAccountTokenAuthenticator } from '#apiserver/authentication/service-account-token.js';
import type { TokenAuthenticator } from '#apiserver/authentication/token.js';
import { TokenFileAuthenticator } from '#apiserver/authentication/token-file.js';
import { RequestAuthenticator } from '#apiserver/authentication/union.js';
import { type ClientAuthorities, readClientAuthorities } from '#apiserver/config/client-authorities.js';
import { forOption, readOptionalFile } from '#apiserver/config/files.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';
import { certificateBundle, FollowedFile, textOf } from '#daemon/certificates/followed-file.js';
import type { Logger } from '#daemon/log/logger.js';
import { type JwtKey, type JwtSigningKey, jwtKey, jwtSigningKey } from '#pki/jwt.js';

export interface AuthenticationDependencies {
  readonly values: ApiServerValues;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly reader: ObjectReader;
  readonly metrics: Registry;
  readonly log: Logger;
}

export interface AuthenticationParts {
  readonly authenticator: Authenticator;
  /** For token reviews. */
  readonly tokens: TokenAuthenticator;
  readonly issuer: TokenIssuer;
  readonly issuerName: string;
  readonly audiences: readonly string[];
  readonly keys: readonly JwtKey[];
  readonly authorities: ClientAuthorities;
}

/** Reads the files that the options name. Throws OptionsError. */
export async function buildAuthentication(dependencies: AuthenticationDependencies): Promise<AuthenticationParts> {
  const { values, dialect, clock, reader, metrics, log } = dependencies;
  const authorities = await readClientAuthorities(values, { clock, metrics });
  const signing = await signingKey(values);
  const keys = await verifyingKeys(values, signing);
  const issuers = values['service-account-issuer'];
  const audiences = values['api-audiences'].length > 0 ? values['api-audiences'] : issuers;
  const tokens = new BearerTokenAuthenticator({
    dialect,
    clock,
    kinds: await tokenKinds(dependencies, keys, audiences),
    metrics: tokenCacheMetrics(metrics),
  });
  const members: Authenticator[] = [];
  const { clients, frontProxies } = authorities;
  if (frontProxies !== undefined) members.push(requestHeader(values, frontProxies.pool));
  if (clients !== undefined) members.push(new ClientCertificateAuthenticator(clients.pool));
  members.push(tokens);
  return {
    authenticator: new RequestAuthenticator({
      dialect,
      clock,
      members,
      anonymous: admitsAnonymous(values, log),
      metrics: new AuthenticationMetrics(metrics),
    }),
    tokens,
    issuer: new TokenIssuer({
      dialect,
      clock,
      reader,
      audiences,
      key: signing,
      issuer: issuers[0] ?? '',
      extendExpiration: values['service-account-extend-token-expiration'],
      maxExpirationSeconds: Math.floor(values['service-account-max-token-expiration'] / 1000),
    }),
    issuerName: issuers[0] ?? '',
    audiences,
    keys,
    authorities,
  };
}

/** Where everything is allowed, a request without credentials would be, too: 1.24 refuses those then, whatever is asked for. */
function admitsAnonymous(values: ApiServerValues, log: Logger): boolean {
  if (!values['anonymous-auth'] || !values['authorization-mode'].includes('AlwaysAllow'))
    return values['anonymous-auth'];
  log.warn(
    'AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer',
  );
  return false;
}

async function tokenKinds(
  dependencies: AuthenticationDependencies,
  keys: readonly JwtKey[],
  audiences: readonly string[],
): Promise<TokenAuthenticator[]> {
  const { values, dialect, clock, reader } = dependencies;
  const kinds: TokenAuthenticator[] = [];
  const file = await readOptionalFile('token-auth-file', values['token-auth-file']);
  if (file !== undefined) kinds.push(forOption('token-auth-file', () => new TokenFileAuthenticator(file)));
  const issuers = values['service-account-issuer'];
  const lookup = values['service-account-lookup'];
  kinds.push(new ServiceAccountTokenAuthenticator({ dialect, clock, keys, issuers, audiences, reader, lookup }));
  const used = secretTokenUses(dependencies.metrics);
  kinds.push(new SecretTokenAuthenticator({ dialect, keys, audiences, reader, lookup, used }));
  if (values['enable-bootstrap-token-auth']) kinds.push(new BootstrapTokenAuthenticator({ dialect, clock, reader }));
  const oidc = await openIdTokens(dependencies, audiences);
  if (oidc !== undefined) kinds.push(oidc);
  return kinds;
}

async function openIdTokens(
  { values, clock, log }: AuthenticationDependencies,
  audiences: readonly string[],
): Promise<TokenAuthenticator | undefined> {
  const { 'oidc-issuer-url': issuer = '', 'oidc-client-id': clientId = '' } = values;
  if (issuer === '') return undefined;
  // Most servers have no such provider, and do without the library that verifies its tokens.
  const { OidcAuthenticator } = await import('#apiserver/authentication/oidc/authenticator.js');
  return new OidcAuthenticator({
    issuer,
    clientId,
    ca: await openIdAuthority(values, log),
    algorithms: values['oidc-signing-algs'],
    usernameClaim: values['oidc-username-claim'],
    usernamePrefix: values['oidc-username-prefix'] ?? '',
    groupsClaim: values['oidc-groups-claim'] ?? '',
    groupsPrefix: values['oidc-groups-prefix'] ?? '',
    requiredClaims: values['oidc-required-claim'] ?? {},
    audiences,
    clock,
    log,
  });
}

/** Read again each time that the provider is asked, which is seldom: its file may have been replaced. */
async function openIdAuthority(values: ApiServerValues, log: Logger): Promise<(() => Promise<string>) | undefined> {
  const bundle = await FollowedFile.read('oidc-ca-file', values['oidc-ca-file'], certificateBundle);
  if (bundle === undefined) return undefined;
  return async () => {
    await bundle.reload().catch((err: unknown) => {
      log.warn({ err }, 'The authorities of the OpenID provider could not be read again; those of before stay for now');
    });
    return bundle.current;
  };
}

function requestHeader(values: ApiServerValues, pool: CertificatePool): Authenticator {
  return new RequestHeaderAuthenticator({
    pool,
    allowedNames: values['requestheader-allowed-names'],
    usernameHeaders: values['requestheader-username-headers'],
    groupHeaders: values['requestheader-group-headers'],
    extraHeaderPrefixes: values['requestheader-extra-headers-prefix'],
  });
}

async function signingKey(values: ApiServerValues): Promise<JwtSigningKey> {
  const option = 'service-account-signing-key-file';
  const pem = await textOf(option, values[option] ?? '');
  return forOption(option, () => jwtSigningKey(createPrivateKey(pem)));
}

async function verifyingKeys(values: ApiServerValues, signing: JwtSigningKey): Promise<JwtKey[]> {
  const option = 'service-account-key-file';
  const files = await Promise.all(values[option].map((path) => textOf(option, path)));
  const keys = files.flatMap((text) => {
    const blocks = text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
    return blocks.map((block) => forOption(option, () => jwtKey(createPublicKey(block))));
  });
  // The public half of the signing key is enough where nothing else is said.
  return keys.length > 0 ? keys : [signing];
}
