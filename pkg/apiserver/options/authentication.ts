/** Options of authentication and of service account tokens. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Authentication';

export const authenticationOptions = {
  'anonymous-auth': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Take requests without credentials as those of system:anonymous in the group system:unauthenticated.',
  },
  'api-audiences': {
    type: 'strings',
    aliases: ['service-account-api-audiences'],
    section,
    meaning: 'Names of this API in tokens; the service account issuers when empty.',
  },
  'client-ca-file': {
    type: 'string',
    section,
    meaning: 'Authorities of client certificates: the common name is the user, organizations are the groups.',
  },
  'enable-bootstrap-token-auth': {
    type: 'bool',
    section,
    meaning: 'Take bootstrap token Secrets of the system namespace as credentials.',
  },
  'token-auth-file': { type: 'string', section, meaning: 'Static tokens: lines of token,user,uid,"group1,group2".' },
  'requestheader-client-ca-file': {
    type: 'string',
    section,
    meaning: 'Authorities of the client certificates of front proxies, whose headers about the user are believed.',
  },
  'requestheader-allowed-names': {
    type: 'strings',
    section,
    meaning: 'Common names of front proxies; empty allows any that the authorities vouch for.',
  },
  'requestheader-username-headers': {
    type: 'strings',
    section,
    meaning: 'Headers with the user’s name, such as X-Remote-User.',
  },
  'requestheader-group-headers': {
    type: 'strings',
    section,
    meaning: 'Headers with the user’s groups, such as X-Remote-Group.',
  },
  'requestheader-extra-headers-prefix': {
    type: 'strings',
    section,
    meaning: 'Beginnings of headers with more about the user, such as X-Remote-Extra-.',
  },
  'service-account-issuer': {
    type: 'stringArray',
    section,
    meaning: 'Issuer in service account tokens, a URL. Repeatable: the first is written, all are believed.',
  },
  'service-account-key-file': {
    type: 'stringArray',
    section,
    meaning: 'Public (or private) keys that verify service account tokens, PEM. Repeatable. Empty: the signing key.',
  },
  'service-account-signing-key-file': {
    type: 'string',
    section,
    meaning: 'Private key that signs service account tokens, PEM.',
  },
  'service-account-jwks-uri': {
    type: 'string',
    section,
    meaning: 'Address of the token keys in the discovery document, where it is not this server’s.',
  },
  'service-account-lookup': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Refuse tokens whose account, pod or Secret is gone.',
  },
  'service-account-max-token-expiration': {
    type: 'duration',
    section,
    meaning: 'Longest lifetime of requested tokens; 0 means no limit.',
  },
  'service-account-extend-token-expiration': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Let the tokens of pods live a year, with a warning from the time on that was asked for.',
  },
  'authentication-token-webhook-cache-ttl': {
    type: 'duration',
    default: 120_000,
    inert: true,
    section,
    meaning: 'How long answers of the token webhook are kept.',
  },
  'authentication-token-webhook-config-file': {
    type: 'string',
    inert: true,
    section,
    meaning: 'Client config of the token webhook.',
  },
  'authentication-token-webhook-version': {
    type: 'string',
    default: 'v1beta1',
    inert: true,
    section,
    meaning: 'Version of token reviews that are sent to the webhook.',
  },
  'oidc-ca-file': { type: 'string', section, meaning: 'Authorities that vouch for the OpenID server.' },
  'oidc-client-id': { type: 'string', section, meaning: 'Client for which OpenID tokens must be issued.' },
  'oidc-groups-claim': { type: 'string', section, meaning: 'Claim with the groups.' },
  'oidc-groups-prefix': { type: 'string', section, meaning: 'Put before the groups of the claim.' },
  'oidc-issuer-url': { type: 'string', section, meaning: 'OpenID issuer, https only.' },
  'oidc-required-claim': { type: 'map', section, meaning: 'Claims that a token must have, key=value.' },
  'oidc-signing-algs': {
    type: 'strings',
    default: ['RS256'],
    section,
    meaning: 'Accepted signature algorithms.',
  },
  'oidc-username-claim': {
    type: 'string',
    default: 'sub',
    section,
    meaning: 'Claim with the user’s name.',
  },
  'oidc-username-prefix': {
    type: 'string',
    section,
    meaning: 'Put before the name of the claim; - for nothing.',
  },
} as const satisfies OptionTable;
