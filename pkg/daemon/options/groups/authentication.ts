/**
 * Options of delegated authentication and authorization: the daemon asks the API server about users and their rights.
 */
import { quoted } from '#apimachinery/errors/message-values.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const authentication = 'Authentication';
const authorization = 'Authorization';

/** The scheduler tolerates failed lookups by default, the controller manager does not. */
export function delegatedAuthOptions<const B extends boolean>(defaults: { readonly tolerateLookupFailure: B }) {
  return {
    'authentication-orchconfig': {
      type: 'string',
      section: authentication,
      meaning:
        'Client config with the right to create token reviews. When empty, all tokens are anonymous and no client CA is looked up in the cluster.',
    },
    'authentication-skip-lookup': {
      type: 'bool',
      section: authentication,
      meaning: 'Do not look up missing authentication configuration in the cluster.',
    },
    'authentication-token-webhook-cache-ttl': {
      type: 'duration',
      min: 0,
      default: 10_000,
      section: authentication,
      meaning: 'How long token review results are cached.',
    },
    'authentication-tolerate-lookup-failure': {
      type: 'bool',
      default: defaults.tolerateLookupFailure,
      section: authentication,
      meaning: 'Continue when the lookup fails; all requests may then be anonymous.',
    },
    'client-ca-file': {
      type: 'string',
      section: authentication,
      meaning:
        'Requests with a client certificate signed by one of these authorities are authenticated by its CommonName.',
    },
    'requestheader-client-ca-file': {
      type: 'string',
      section: authentication,
      meaning: 'Authorities that verify the client certificate before user names in headers are trusted.',
    },
    'requestheader-allowed-names': {
      type: 'strings',
      section: authentication,
      meaning:
        'Common names of client certificates that may set user names in headers; empty allows every verified one.',
    },
    'requestheader-username-headers': {
      type: 'strings',
      default: ['x-remote-user'],
      section: authentication,
      meaning: 'Headers that hold the user name.',
    },
    'requestheader-group-headers': {
      type: 'strings',
      default: ['x-remote-group'],
      section: authentication,
      meaning: 'Headers that hold the groups.',
    },
    'requestheader-extra-headers-prefix': {
      type: 'strings',
      default: ['x-remote-extra-'],
      section: authentication,
      meaning: 'Prefixes of headers that hold extra attributes.',
    },
    'authorization-orchconfig': {
      type: 'string',
      section: authorization,
      meaning:
        'Client config with the right to create subject access reviews. When empty, every request that is not skipped is forbidden.',
    },
    'authorization-always-allow-paths': {
      type: 'strings',
      default: ['/healthz', '/readyz', '/livez'],
      section: authorization,
      meaning: 'Paths that need no authorization; a trailing * matches every path that begins so.',
    },
    'authorization-webhook-cache-authorized-ttl': {
      type: 'duration',
      min: 0,
      default: 10_000,
      section: authorization,
      meaning: 'How long positive access review results are cached.',
    },
    'authorization-webhook-cache-unauthorized-ttl': {
      type: 'duration',
      min: 0,
      default: 10_000,
      section: authorization,
      meaning: 'How long negative access review results are cached.',
    },
  } as const satisfies OptionTable;
}

export type DelegatedAuthValues = OptionValues<ReturnType<typeof delegatedAuthOptions<boolean>>>;

/** Combinations that 1.24 refuses. */
export const delegatedAuthRules: Rule<DelegatedAuthValues> = (values, given) => {
  const messages: string[] = [];
  for (const path of values['authorization-always-allow-paths']) {
    const star = path.indexOf('*');
    if (star >= 0 && star !== path.length - 1) {
      messages.push(`--authorization-always-allow-paths: only trailing * allowed in "${path}"`);
    }
  }
  return [...requestHeaderRules(values, given), ...messages];
};

const headerLists = [
  'requestheader-username-headers',
  'requestheader-group-headers',
  'requestheader-extra-headers-prefix',
  'requestheader-allowed-names',
] as const;

/**
 * Empty values that 1.24 refuses in the options of an authenticating proxy; only the first of each option is reported.
 */
export const requestHeaderRules: Rule<Pick<DelegatedAuthValues, (typeof headerLists)[number]>> = (values) =>
  headerLists
    .filter((name) => values[name].some((value) => value.trim() === ''))
    .map((name) => `empty value in ${quoted(name)}`);
