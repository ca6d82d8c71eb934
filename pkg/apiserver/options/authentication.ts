/** Options of authentication and of service account tokens. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Authentication';

export const authenticationOptions = {
  'anonymous-auth': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Treat requests without credentials as system:anonymous in the group system:unauthenticated.',
  },
  'api-audiences': {
    type: 'strings',
    aliases: ['service-account-api-audiences'],
    section,
    meaning: 'Audiences of this API server in tokens. Empty: the service account issuers.',
  },
  'client-ca-file': {
    type: 'string',
    section,
    meaning: 'CA bundle for client certificates: the common name is the user, organizations are the groups.',
  },
  'enable-bootstrap-token-auth': {
    type: 'bool',
    section,
    meaning: 'Accept bootstrap tokens, which are Secrets in the system namespace.',
  },
  'token-auth-file': { type: 'string', section, meaning: 'Static tokens: lines of token,user,uid,"group1,group2".' },
  'requestheader-client-ca-file': {
    type: 'string',
    section,
    meaning: 'CA bundle for client certificates of front proxies, whose user headers are trusted.',
  },
  'requestheader-allowed-names': {
    type: 'strings',
    section,
    meaning: 'Common names allowed in certificates of front proxies. Empty: any.',
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
    meaning: 'Prefixes of headers with extra user attributes, such as X-Remote-Extra-.',
  },
  'service-account-issuer': {
    type: 'stringArray',
    section,
    meaning: 'Issuer of service account tokens, a URL. Repeatable: new tokens get the first, all are accepted.',
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
    meaning: 'URL of the token keys in the discovery document, if another server publishes them.',
  },
  'service-account-lookup': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Refuse tokens whose account, pod or Secret does not exist any more.',
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
    meaning: 'Extend the tokens of pods to a year, with a warning for uses after the requested lifetime.',
  },
  'authentication-token-webhook-cache-ttl': {
    type: 'duration',
    default: 120_000,
    section,
    meaning: 'How long answers of the token webhook are cached, refusals included; 0 for not at all.',
  },
  'authentication-token-webhook-config-file': {
    type: 'string',
    section,
    meaning: 'Kubeconfig file with the address of a webhook that authenticates bearer tokens of no other kind.',
  },
  'authentication-token-webhook-version': {
    type: 'string',
    default: 'v1beta1',
    section,
    meaning: 'Version of the token reviews that the webhook gets and answers, v1 or v1beta1.',
  },
  'oidc-ca-file': { type: 'string', section, meaning: 'CA bundle for the OpenID server.' },
  'oidc-client-id': { type: 'string', section, meaning: 'Client ID that OpenID tokens must be issued for.' },
  'oidc-groups-claim': { type: 'string', section, meaning: 'Claim with the groups.' },
  'oidc-groups-prefix': { type: 'string', section, meaning: 'Prefix of the groups in the claim.' },
  'oidc-issuer-url': { type: 'string', section, meaning: 'OpenID issuer, https only.' },
  'oidc-required-claim': { type: 'map', section, meaning: 'Claims that a token must have, key=value.' },
  'oidc-signing-algs': { type: 'strings', default: ['RS256'], section, meaning: 'Accepted signature algorithms.' },
  'oidc-username-claim': { type: 'string', default: 'sub', section, meaning: 'Claim with the user’s name.' },
  'oidc-username-prefix': { type: 'string', section, meaning: 'Prefix of the name in the claim; - for no prefix.' },
} as const satisfies OptionTable;
