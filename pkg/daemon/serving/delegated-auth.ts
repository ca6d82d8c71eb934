/** Builds a daemon's authenticator and authorizer from its options. */

import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { DelegatedAuthValues } from '#daemon/options/groups/authentication.js';
import { OptionsError } from '#daemon/options/option.js';
import { type Authenticator, DelegatedAuthenticator } from '#daemon/serving/authenticator.js';
import { type Authorizer, DelegatedAuthorizer } from '#daemon/serving/authorizer.js';
import { CertificateAuthorities } from '#daemon/serving/certificate-authorities.js';
import { parseJsonList } from '#daemon/serving/json-list.js';
import { countedReviews } from '#daemon/serving/review-metrics.js';
import type { ReviewClient } from '#daemon/serving/user.js';

export interface DelegatedAuth {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Whether the TLS handshake asks for client certificates; constant during a server's lifetime. */
  readonly asksForCertificates: boolean;
  /** Authorities named in the handshake; empty: any certificate is accepted there. */
  readonly clientCaPems: readonly string[];
}

export interface DelegatedAuthDependencies {
  readonly values: DelegatedAuthValues;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  /** For token reviews and the lookup; absent: tokens are ignored. */
  readonly authenticationClient?: ReviewClient | undefined;
  /** For access reviews; absent: only always allowed paths are allowed. */
  readonly authorizationClient?: ReviewClient | undefined;
  /** Registry that counts reviews. */
  readonly metrics?: Registry | undefined;
}

/** Authentication settings that may change while the daemon runs. */
export interface AuthenticationSettings {
  /** PEM bundles; undefined: such certificates do not authenticate. */
  readonly clientCa: string | undefined;
  readonly requestHeaderCa: string | undefined;
  readonly headers: HeaderSettings;
}

type HeaderSettings = Omit<PublishedAuthentication, 'clientCa' | 'requestHeaderClientCa'>;

/** Settings that can be reloaded from the same files and the same ConfigMap. */
export interface ReloadableAuth extends DelegatedAuth {
  /**
   * Reads the current settings. Throws OptionsError for unusable files; if the lookup fails, the previous result is
   * used.
   */
  settings(): Promise<AuthenticationSettings>;
  /** Settings in use. */
  readonly current: AuthenticationSettings;
  /** True if the lookup at the start failed and was tolerated, and none has succeeded since. */
  readonly isUnsettled: boolean;
  /** Applies the settings to future requests. */
  use(settings: AuthenticationSettings): void;
}

/** Throws OptionsError for unusable files, and the client's errors if a required lookup fails. */
export async function createDelegatedAuth(dependencies: DelegatedAuthDependencies): Promise<ReloadableAuth> {
  const { values, dialect, clock, log } = dependencies;
  const looksUp = canLookUp(dependencies);
  let published = await lookUp(dependencies);
  let settings = await settingsOf(values, published);
  let authenticator = authenticatorOf(dependencies, settings);
  const { authorizationClient: client } = dependencies;
  const authorizer = new DelegatedAuthorizer({
    dialect,
    clock,
    reviewClient: client === undefined ? undefined : countedReviews(client, 'authz', dependencies),
    allowedTtlMs: values['authorization-webhook-cache-authorized-ttl'],
    deniedTtlMs: values['authorization-webhook-cache-unauthorized-ttl'],
    alwaysAllowPaths: values['authorization-always-allow-paths'],
  });
  return {
    authorizer,
    get authenticator() {
      return authenticator;
    },
    get current() {
      return settings;
    },
    get asksForCertificates() {
      // The lookup may succeed only after the server has started, which is too late to ask for client certificates.
      return looksUp || settings.clientCa !== undefined || settings.requestHeaderCa !== undefined;
    },
    get isUnsettled() {
      return looksUp && published === undefined;
    },
    get clientCaPems() {
      return [settings.clientCa, settings.requestHeaderCa].filter((pem) => pem !== undefined);
    },
    async settings() {
      try {
        published = (await lookUp(dependencies)) ?? published;
      } catch (error) {
        log.warn({ err: error }, 'cannot look up authentication settings again; keeping the old ones');
      }
      const read = await settingsOf(values, published);
      // Reports unusable bundles before they are returned.
      authenticatorOf(dependencies, read);
      return read;
    },
    use(next) {
      settings = next;
      authenticator = authenticatorOf(dependencies, next);
    },
  };
}

/** CA bundle files that may be replaced while the daemon runs. */
export function authorityFiles(values: DelegatedAuthValues): string[] {
  return [values['client-ca-file'] ?? '', values['requestheader-client-ca-file'] ?? ''].filter((file) => file !== '');
}

async function settingsOf(
  values: DelegatedAuthValues,
  published: PublishedAuthentication | undefined,
): Promise<AuthenticationSettings> {
  const clientCa = (await readBundle('client-ca-file', values['client-ca-file'])) ?? published?.clientCa;
  const ownHeaderCa = await readBundle('requestheader-client-ca-file', values['requestheader-client-ca-file']);
  const requestHeaderCa = ownHeaderCa ?? published?.requestHeaderClientCa;
  const headers = ownHeaderCa === undefined && published !== undefined ? published : optionsOf(values);
  const { allowedNames, usernameHeaders, groupHeaders, extraPrefixes } = headers;
  return { clientCa, requestHeaderCa, headers: { allowedNames, usernameHeaders, groupHeaders, extraPrefixes } };
}

function authenticatorOf(
  { values, dialect, clock, authenticationClient, metrics }: DelegatedAuthDependencies,
  { clientCa, requestHeaderCa, headers }: AuthenticationSettings,
): Authenticator {
  return new DelegatedAuthenticator({
    dialect,
    clock,
    tokenTtlMs: values['authentication-token-webhook-cache-ttl'],
    reviewClient:
      authenticationClient === undefined
        ? undefined
        : countedReviews(authenticationClient, 'authn', { clock, metrics }),
    clientAuthorities: clientCa === undefined ? undefined : authoritiesOf('client-ca-file', clientCa),
    requestHeader:
      requestHeaderCa === undefined
        ? undefined
        : { authorities: authoritiesOf('requestheader-client-ca-file', requestHeaderCa), ...headers },
  });
}

/** False if options provide everything that the lookup would. */
function canLookUp({ values, authenticationClient }: DelegatedAuthDependencies): boolean {
  if (authenticationClient === undefined || values['authentication-skip-lookup']) return false;
  return (values['client-ca-file'] ?? '') === '' || (values['requestheader-client-ca-file'] ?? '') === '';
}

async function lookUp(dependencies: DelegatedAuthDependencies): Promise<PublishedAuthentication | undefined> {
  const { values, dialect, log, authenticationClient } = dependencies;
  if (authenticationClient === undefined || !canLookUp(dependencies)) return undefined;
  try {
    return await lookUpAuthentication(authenticationClient, dialect);
  } catch (error) {
    if (!values['authentication-tolerate-lookup-failure']) throw error;
    log.warn({ err: error }, 'cannot look up authentication settings; all requests may be anonymous');
    return undefined;
  }
}

function optionsOf(values: DelegatedAuthValues): HeaderSettings {
  return {
    allowedNames: values['requestheader-allowed-names'],
    usernameHeaders: values['requestheader-username-headers'],
    groupHeaders: values['requestheader-group-headers'],
    extraPrefixes: values['requestheader-extra-headers-prefix'],
  };
}

async function readBundle(option: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined || path === '') return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--${option}: cannot read ${path}: ${messageOf(error)}`]);
  }
}

function authoritiesOf(option: string, pem: string): CertificateAuthorities {
  try {
    return new CertificateAuthorities(pem);
  } catch (error) {
    throw new OptionsError([`--${option}: ${messageOf(error)}`]);
  }
}

export interface PublishedAuthentication {
  /**
   * Authentication settings that the API server publishes for other servers. PEM bundles are absent if not published.
   */
  readonly clientCa?: string;
  readonly requestHeaderClientCa?: string;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

/** Name of the ConfigMap in the system namespace, equal in all dialects. */
const configMapName = 'extension-apiserver-authentication';

/** Reads the published settings. Rejects with the client's errors. */
async function lookUpAuthentication(client: ReviewClient, dialect: Dialect): Promise<PublishedAuthentication> {
  const path = `/api/v1/namespaces/${dialect.namespaces.system}/configmaps/${configMapName}`;
  const { data = {} } = await client.request<ConfigMap>('GET', path);
  const clientCa = data['client-ca-file'];
  const requestHeaderClientCa = data['requestheader-client-ca-file'];
  return {
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(requestHeaderClientCa === undefined ? {} : { requestHeaderClientCa }),
    allowedNames: parseJsonList(data['requestheader-allowed-names']),
    usernameHeaders: parseJsonList(data['requestheader-username-headers']),
    groupHeaders: parseJsonList(data['requestheader-group-headers']),
    extraPrefixes: parseJsonList(data['requestheader-extra-headers-prefix']),
  };
}
