/** The authenticators, and the issuer of service account tokens. */
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { eitherTime, processClock } from '#apimachinery/clock.js';
import type { Authenticator, TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import { BearerTokenAuthenticator } from '#apiserver/authentication/bearer-token.js';
import { BootstrapTokenAuthenticator } from '#apiserver/authentication/bootstrap-token.js';
import { type CertificatePool, ClientCertificateAuthenticator } from '#apiserver/authentication/certificate-pool.js';
import {
  AuthenticationMetrics,
  secretTokenUses,
  type TokenCacheMetrics,
  tokenCacheMetrics,
} from '#apiserver/authentication/metrics.js';
import { RequestAuthenticator } from '#apiserver/authentication/request-authenticator.js';
import { RequestHeaderAuthenticator } from '#apiserver/authentication/request-header.js';
import { SecretTokenAuthenticator } from '#apiserver/authentication/secret-token.js';
import { ServiceAccountTokenAuthenticator } from '#apiserver/authentication/service-account-token.js';
import { TokenFileAuthenticator } from '#apiserver/authentication/token-file.js';
import { type ClientAuthorities, readClientAuthorities } from '#apiserver/build/client-authorities.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { forOption, readOptionalFile } from '#apiserver/build/option-files.js';
import { openBackend, reviewVersion } from '#apiserver/build/webhook-backend.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';
import { certificateBundle, FollowedFile, textOf } from '#daemon/certificates/followed-file.js';
import type { Logger } from '#daemon/log/logger.js';
import { type JwtKey, type JwtSigningKey, jwtKey, jwtSigningKey } from '#pki/jwt.js';

export interface AuthenticationParts {
  readonly authenticator: Authenticator;
  /** Authenticates the tokens of token reviews. */
  readonly tokens: TokenAuthenticator;
  readonly issuer: TokenIssuer;
  readonly issuerName: string;
  readonly audiences: readonly string[];
  readonly keys: readonly JwtKey[];
  readonly authorities: ClientAuthorities;
  /** Ends the calls of webhooks. */
  close(): void;
}

/** Reads the files that the options name. Throws OptionsError. */
export async function buildAuthentication(
  values: ApiServerValues,
  environment: ServerEnvironment,
  reader: ObjectReader,
): Promise<AuthenticationParts> {
  const { dialect, clock, clusterClock = clock, metrics, log } = environment;
  const authorities = await readClientAuthorities(values, { clock: processClock(clusterClock), metrics });
  const signing = await signingKey(values);
  const keys = await verifyingKeys(values, signing);
  const issuers = values['service-account-issuer'];
  const audiences = values['api-audiences'].length > 0 ? values['api-audiences'] : issuers;
  const cacheMetrics = tokenCacheMetrics(metrics);
  const webhook = await tokenWebhook(values, environment, audiences, cacheMetrics);
  const kinds = await tokenKinds(values, environment, { reader, keys, audiences });
  if (webhook !== undefined) kinds.push(webhook.authenticator);
  const tokens = new BearerTokenAuthenticator({
    dialect,
    clock: eitherTime(clusterClock),
    kinds,
    metrics: cacheMetrics,
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
    close: () => webhook?.close(),
  };
}

/** Like 1.24, admits no anonymous requests under AlwaysAllow, whatever the option says. */
function admitsAnonymous(values: ApiServerValues, log: Logger): boolean {
  if (!values['anonymous-auth'] || !values['authorization-mode'].includes('AlwaysAllow'))
    return values['anonymous-auth'];
  log.warn(
    'AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer',
  );
  return false;
}

interface TokenSetup extends Pick<AuthenticationParts, 'keys' | 'audiences'> {
  readonly reader: ObjectReader;
}

async function tokenKinds(
  values: ApiServerValues,
  environment: ServerEnvironment,
  { reader, keys, audiences }: TokenSetup,
): Promise<TokenAuthenticator[]> {
  const { dialect, clock } = environment;
  const kinds: TokenAuthenticator[] = [];
  const file = await readOptionalFile('token-auth-file', values['token-auth-file']);
  if (file !== undefined) kinds.push(forOption('token-auth-file', () => new TokenFileAuthenticator(file)));
  const issuers = values['service-account-issuer'];
  const lookup = values['service-account-lookup'];
  kinds.push(new ServiceAccountTokenAuthenticator({ dialect, clock, keys, issuers, audiences, reader, lookup }));
  const used = secretTokenUses(environment.metrics);
  kinds.push(new SecretTokenAuthenticator({ dialect, keys, audiences, reader, lookup, used }));
  if (values['enable-bootstrap-token-auth']) kinds.push(new BootstrapTokenAuthenticator({ dialect, clock, reader }));
  const oidc = await openIdTokens(values, environment, audiences);
  if (oidc !== undefined) kinds.push(oidc);
  return kinds;
}

async function openIdTokens(
  values: ApiServerValues,
  { clock, clusterClock = clock, log }: ServerEnvironment,
  audiences: readonly string[],
): Promise<TokenAuthenticator | undefined> {
  const { 'oidc-issuer-url': issuer = '', 'oidc-client-id': clientId = '' } = values;
  if (issuer === '') return undefined;
  // Load the verifying library only when a provider is configured.
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
    clock: processClock(clusterClock),
    log,
  });
}

/** Limit of concurrent calls: tokens are authenticated before requests are counted as in flight. */
const maxTokenCalls = 256;
/** 1.24's limit of a shared lookup of a token. */
const tokenReviewMs = 30_000;

interface OpenTokenWebhook {
  readonly authenticator: TokenAuthenticator;
  close(): void;
}

/** Throws OptionsError. */
async function tokenWebhook(
  values: ApiServerValues,
  environment: ServerEnvironment,
  audiences: readonly string[],
  metrics: TokenCacheMetrics,
): Promise<OpenTokenWebhook | undefined> {
  const { dialect, clock, log } = environment;
  const option = 'authentication-token-webhook-config-file';
  const limits = { totalMs: tokenReviewMs, maxCalls: maxTokenCalls };
  const backend = await openBackend({ name: option, words: '' }, values[option], environment, limits);
  if (backend === undefined) return undefined;
  const version = reviewVersion('authentication webhook', values['authentication-token-webhook-version']);
  const [{ TokenWebhook }, { TokenCache }] = await Promise.all([
    import('#apiserver/authentication/webhook/token-webhook.js'),
    import('#apiserver/authentication/webhook/token-cache.js'),
  ]);
  const authenticator = new TokenCache({
    authenticator: new TokenWebhook({ dialect, backend, version, audiences, log }),
    clock,
    ttlMs: values['authentication-token-webhook-cache-ttl'],
    key: randomBytes(32),
    metrics,
  });
  return { authenticator, close: () => void backend.close() };
}

/** Requests to the provider are rare, so each one reads the CA file again: it may have been replaced. */
export async function openIdAuthority(
  values: ApiServerValues,
  log: Logger,
): Promise<(() => Promise<string>) | undefined> {
  const bundle = await FollowedFile.read('oidc-ca-file', values['oidc-ca-file'], certificateBundle);
  if (bundle === undefined) return undefined;
  return async () => {
    await bundle.reload().catch((err: unknown) => {
      log.warn({ err }, "could not reload the OpenID provider's CA file; the previous certificates stay in use");
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
  // The default is the public half of the signing key.
  return keys.length > 0 ? keys : [signing];
}
