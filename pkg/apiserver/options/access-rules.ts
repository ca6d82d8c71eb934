/** Checks of authentication, authorization and admission options, as in 1.24. */
import { quoted } from '#apimachinery/errors/message-values.js';
import { unknownPlugins } from '#apiserver/admission/chain/plugins.js';
import { authorizationModes } from '#apiserver/options/authorization.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

/**
 * The error of Go's URL parser (`net/url`), or undefined. It accepts nearly everything: a host needs no dots, and a text without a
 * scheme is a path.
 */
function goURLError(text: string): string | undefined {
  const why = urlProblem(text);
  return why === undefined ? undefined : `parse ${quoted(text)}: ${why}`;
}

function urlProblem(text: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'net/url: invalid control character in URL';
  if (text.startsWith(':')) return 'missing protocol scheme';
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length).replace(/[?#].*$/, '');
  if (scheme === '' && !text.startsWith('/') && /^[^/?#]*:/.test(text)) {
    return 'first path segment in URL cannot contain colon';
  }
  const authority = rest.startsWith('//') ? (/^\/\/([^/]*)/.exec(rest)?.[1] ?? '') : undefined;
  const host = authority?.replace(/^.*@/, '');
  if (host?.startsWith('[') === true && !host.includes(']')) return "missing ']' in host";
  const port = host === undefined ? undefined : /^(?:\[[^\]]*\]|[^:]*)(:.*)?$/.exec(host)?.[1];
  if (port !== undefined && !/^:\d*$/.test(port)) return `invalid port ${quoted(port)} after host`;
  const path = authority === undefined ? rest : rest.slice(authority.length + 2);
  const broken = /%(?![0-9a-f]{2}).{0,2}/is.exec(path)?.[0];
  return broken === undefined ? undefined : `invalid URL escape ${quoted(broken)}`;
}

const hourMs = 3_600_000;
const maxExpirationMs = 2 ** 32 * 1000;

function missing(values: ApiServerValues, name: keyof ApiServerValues): boolean {
  return (values[name] ?? '') === '';
}

/** This check comes first if tokens are issued. */
export const tokenExpirationRule: Rule<ApiServerValues> = (values) => {
  const [issuer = ''] = values['service-account-issuer'];
  const maxMs = values['service-account-max-token-expiration'];
  if (missing(values, 'service-account-signing-key-file') || issuer === '' || maxMs === 0) return [];
  if (maxMs >= hourMs && maxMs <= maxExpirationMs) return [];
  return ['the service-account-max-token-expiration must be between 1 hour and 2^32 seconds'];
};

export const authenticationRules: Rule<ApiServerValues> = (values) => {
  const messages: string[] = [];
  if (missing(values, 'oidc-issuer-url') !== missing(values, 'oidc-client-id')) {
    messages.push('oidc-issuer-url and oidc-client-id should be specified together');
  }
  const issuers = values['service-account-issuer'];
  messages.push(...issuerErrors(issuers));
  if (issuers.length === 0) messages.push('service-account-issuer is a required flag');
  const keys =
    values['service-account-key-file'].length + (missing(values, 'service-account-signing-key-file') ? 0 : 1);
  if (keys === 0 && missing(values, 'tls-private-key-file')) {
    messages.push('service-account-key-file is a required flag');
  }
  const jwks = values['service-account-jwks-uri'] ?? '';
  const wrong = goURLError(jwks);
  if (wrong !== undefined) messages.push(`service-account-jwks-uri must be a valid URL: ${wrong}`);
  else if (jwks !== '' && !/^https:/i.test(jwks)) {
    messages.push(`service-account-jwks-uri requires https scheme, parsed as: ${jwks}`);
  }
  return messages;
};

function issuerErrors(issuers: readonly string[]): string[] {
  const seen = new Set<string>();
  return issuers.flatMap((issuer) => {
    const wrong = issuer.includes(':') ? goURLError(issuer) : undefined;
    if (wrong !== undefined) {
      return [`service-account-issuer ${quoted(issuer)} contained a ':' but was not a valid URL: ${wrong}`];
    }
    if (issuer === '') return ['service-account-issuer should not be an empty string'];
    if (seen.has(issuer)) return [`service-account-issuer ${quoted(issuer)} is already specified`];
    seen.add(issuer);
    return [];
  });
}

/** Tokens require an issuer and a key. */
export const tokenRequestRule: Rule<ApiServerValues> = (values) => {
  const [issuer = ''] = values['service-account-issuer'];
  const hasKey = !missing(values, 'service-account-signing-key-file');
  if (hasKey && issuer !== '') return [];
  if (!hasKey && issuer === '' && values['api-audiences'].length === 0) {
    return ['--service-account-signing-key-file and --service-account-issuer are required flags'];
  }
  return [
    '--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together',
  ];
};

const signingAlgorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];

/** 1.24 makes this check when it builds the authenticators. */
export const oidcRule: Rule<ApiServerValues> = (values) => {
  const issuer = values['oidc-issuer-url'] ?? '';
  if (issuer === '') return [];
  const wrong = goURLError(issuer);
  if (wrong !== undefined) return [wrong];
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(issuer)?.[1]?.toLowerCase() ?? '';
  if (scheme !== 'https') {
    return [`'oidc-issuer-url' (${quoted(issuer)}) has invalid scheme (${quoted(scheme)}), require 'https'`];
  }
  const unknown = values['oidc-signing-algs'].find((algorithm) => !signingAlgorithms.includes(algorithm));
  return unknown === undefined ? [] : [`oidc: unsupported signing alg: ${quoted(unknown)}`];
};

export const authorizationRules: Rule<ApiServerValues> = (values) => {
  const messages: string[] = [];
  const modes = values['authorization-mode'];
  if (modes.length === 0) messages.push('at least one authorization-mode must be passed');
  const reported = new Set<string>();
  for (const mode of modes) {
    if (!authorizationModes.includes(mode) && !reported.has(mode)) {
      messages.push(`authorization-mode ${quoted(mode)} is not a valid mode`);
      reported.add(mode);
    }
    if (mode === 'ABAC' && missing(values, 'authorization-policy-file')) {
      messages.push("authorization-mode ABAC's authorization policy file not passed");
    }
    if (mode === 'Webhook' && missing(values, 'authorization-webhook-config-file')) {
      messages.push("authorization-mode Webhook's authorization config file not passed");
    }
  }
  if (!missing(values, 'authorization-policy-file') && !modes.includes('ABAC')) {
    messages.push('cannot specify --authorization-policy-file without mode ABAC');
  }
  if (!missing(values, 'authorization-webhook-config-file') && !modes.includes('Webhook')) {
    messages.push('cannot specify --authorization-webhook-config-file without mode Webhook');
  }
  if (new Set(modes).size < modes.length) {
    messages.push(`authorization-mode [${modes.map(quoted).join(' ')}] has mode specified more than once`);
  }
  return messages;
};

export const admissionRules: Rule<ApiServerValues> = (values, setOptions) => {
  const messages: string[] = [];
  const lists = ['enable-admission-plugins', 'disable-admission-plugins'] as const;
  if (setOptions.has('admission-control') && lists.some((list) => setOptions.has(list))) {
    messages.push(
      'admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive',
    );
  }
  // 1.24 then starts without any plugin.
  if (setOptions.has('admission-control') && values['admission-control'].length === 0)
    messages.push('admission-control is empty; to switch all plugins off, name only AlwaysAdmit');
  for (const list of ['admission-control', ...lists] as const) {
    for (const name of unknownPlugins(values[list])) messages.push(`${list} plugin ${quoted(name)} is unknown`);
  }
  const disabled = new Set(values['disable-admission-plugins']);
  const both = [...new Set(values['enable-admission-plugins'])].filter((name) => disabled.has(name)).sort();
  if (both.length > 0) {
    messages.push(`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`);
  }
  return messages;
};
