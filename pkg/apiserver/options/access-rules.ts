/** What 1.24 refuses about authentication, authorization and admission. */
import { unknownPlugins } from '#apiserver/admission/chain/plugins.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

export const accessRules: Rule<ApiServerValues> = (values, given) => [
  ...tokenErrors(values),
  ...headerErrors(values),
  ...oidcErrors(values),
  ...authorizationErrors(values),
  ...admissionErrors(values, given),
];

const hourMs = 3_600_000;
const maxExpirationMs = 2 ** 32 * 1000;

function missing(values: ApiServerValues, name: keyof ApiServerValues): boolean {
  return (values[name] ?? '') === '';
}

function tokenErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const issuers = values['service-account-issuer'];
  if (issuers.length === 0 || issuers.includes('')) messages.push('--service-account-issuer is a required flag');
  if (missing(values, 'service-account-signing-key-file')) {
    messages.push('--service-account-signing-key-file is a required flag');
  }
  for (const issuer of issuers) {
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      messages.push(`--service-account-issuer ${JSON.stringify(issuer)} contains a ':' and is not a valid URL`);
    }
  }
  for (const issuer of new Set(issuers.filter((each, i) => issuers.indexOf(each) !== i))) {
    messages.push(`--service-account-issuer ${JSON.stringify(issuer)} is given more than once`);
  }
  const jwks = values['service-account-jwks-uri'] ?? '';
  if (jwks !== '' && (!URL.canParse(jwks) || !jwks.startsWith('https://'))) {
    messages.push(`--service-account-jwks-uri ${JSON.stringify(jwks)} must be a URL with the scheme https`);
  }
  const maxMs = values['service-account-max-token-expiration'];
  if (maxMs !== 0 && (maxMs < hourMs || maxMs > maxExpirationMs)) {
    messages.push('--service-account-max-token-expiration must be between 1 hour and 2^32 seconds');
  }
  return messages;
}

function headerErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const lists = [
    'requestheader-allowed-names',
    'requestheader-username-headers',
    'requestheader-group-headers',
    'requestheader-extra-headers-prefix',
  ] as const;
  for (const name of lists) {
    if (values[name].some((value) => value.trim() === '')) messages.push(`--${name}: empty value in the list`);
  }
  return messages;
}

function oidcErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  if (missing(values, 'oidc-issuer-url') !== missing(values, 'oidc-client-id')) {
    messages.push('--oidc-issuer-url and --oidc-client-id must be given together');
  }
  const url = values['oidc-issuer-url'] ?? '';
  if (url !== '' && (!URL.canParse(url) || !url.startsWith('https://'))) {
    messages.push(`--oidc-issuer-url ${JSON.stringify(url)} must be a URL with the scheme https`);
  }
  const known = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];
  for (const algorithm of values['oidc-signing-algs']) {
    if (!known.includes(algorithm))
      messages.push(`--oidc-signing-algs: unsupported algorithm ${JSON.stringify(algorithm)}`);
  }
  return messages;
}

function authorizationErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const modes = values['authorization-mode'];
  if (modes.length === 0) messages.push('at least one authorization-mode must be passed');
  if (new Set(modes).size < modes.length) messages.push('authorization-mode has mode specified more than once');
  const files = { ABAC: 'authorization-policy-file', Webhook: 'authorization-webhook-config-file' } as const;
  for (const mode of ['ABAC', 'Webhook'] as const) {
    const file = files[mode];
    if (modes.includes(mode)) {
      messages.push(`authorization-mode ${mode} is not supported yet`);
      if (missing(values, file)) messages.push(`authorization-mode ${mode} requires --${file}`);
    } else if (!missing(values, file)) messages.push(`cannot specify --${file} without mode ${mode}`);
  }
  return messages;
}

function admissionErrors(values: ApiServerValues, given: ReadonlySet<string>): string[] {
  const messages: string[] = [];
  const lists = ['enable-admission-plugins', 'disable-admission-plugins'] as const;
  for (const list of lists) {
    for (const name of unknownPlugins(values[list])) messages.push(`${list} plugin "${name}" is unknown`);
    if (given.has('admission-control') && given.has(list)) {
      messages.push(`--admission-control must not be combined with --${list}`);
    }
  }
  for (const name of unknownPlugins(values['admission-control'])) {
    messages.push(`admission-control plugin "${name}" is unknown`);
  }
  const [enabled, disabled] = lists.map((list) => values[list]);
  const both = enabled?.filter((name) => disabled?.includes(name)) ?? [];
  if (both.length > 0) messages.push(`${both.join(', ')} in ${lists.join(' and ')} overlap`);
  return messages;
}
