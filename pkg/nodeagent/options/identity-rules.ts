/** Validates labels, taints and addresses of the node, and combinations of general options. */
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { specialRange } from '#apimachinery/net/special-ip.js';
import { ipErrors } from '#apimachinery/validation/checks.js';
import { labelValueErrors, qualifiedNameErrors } from '#apimachinery/validation/names.js';
import type { Rule } from '#daemon/options/validate.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { label } from '#nodeagent/options/label.js';

/** Parses a taint of `--register-with-taints`: `key=value:effect` or `key:effect`; undefined for anything else. */
export function parseTaint(text: string): { key: string; value?: string; effect: string } | undefined {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (match?.[1] === undefined || match[3] === undefined) return undefined;
  const value = match[2] ?? '';
  return value === '' ? { key: match[1], effect: match[3] } : { key: match[1], value, effect: match[3] };
}

/** Node addresses must be one IP address or one of each family, as in 1.24. */
export function nodeIPErrors(nodeIPs: readonly string[]): string[] {
  const families = nodeIPs.map((address) => ipFamily(address.trim()));
  const pair = nodeIPs.length === 2 && families[0] !== families[1];
  const text = JSON.stringify(nodeIPs.join(','));
  if (families.includes(0) || (nodeIPs.length > 1 && !pair)) {
    return [`--node-ip ${text} must be one IP address or one of each family`];
  }
  const anyIsUnspecified = nodeIPs.some((address) => specialRange(address.trim()) === 'unspecified');
  return pair && anyIsUnspecified ? [`dual-stack --node-ip ${text} cannot include '0.0.0.0' or '::'`] : [];
}

export const identityRules: Rule<NodeAgentOptions> = (values, given) => [
  ...labelErrors(values['node-labels'], dialectByName(values.dialect)),
  ...values['register-with-taints'].flatMap(taintErrors),
  ...repeatedTaints(values['register-with-taints']),
  ...addressErrors(values),
  ...combinationErrors(values, given),
];

function labelErrors(labels: Readonly<Record<string, string>>, dialect: Dialect): string[] {
  const messages: string[] = [];
  for (const [key, value] of Object.entries(labels)) {
    for (const text of qualifiedNameErrors(key)) messages.push(`--node-labels: ${JSON.stringify(key)}: ${text}`);
    for (const text of labelValueErrors(value)) messages.push(`--node-labels: ${JSON.stringify(value)}: ${text}`);
  }
  const unknown = Object.keys(labels).filter((key) => !agentMaySet(key, dialect));
  if (unknown.length > 0) {
    const { labelDomain: domain, components } = dialect;
    messages.push(
      `--node-labels: unknown labels of the product's own domain: ${unknown.sort().join(', ')}; they must begin with ${components.nodeAgent}.${domain} or node.${domain}, or be well-known ones`,
    );
  }
  return messages;
}

/** Labels of the product's own domain affect scheduling, so an agent may only set those that describe its node. */
function agentMaySet(key: string, { labels, labelDomain, apiDomain, components }: Dialect): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  if (!within(domain, labelDomain) && !within(domain, apiDomain)) return true;
  if (within(domain, `${components.nodeAgent}.${labelDomain}`) || within(domain, `node.${labelDomain}`)) return true;
  const wellKnownLabels: readonly string[] = [
    labels.hostname,
    labels.os,
    labels.arch,
    labels.zone,
    labels.region,
    labels.instanceType,
    labels.betaOS,
    labels.betaArch,
    `beta.${labelDomain}/instance-type`,
    `failure-domain.beta.${labelDomain}/zone`,
    `failure-domain.beta.${labelDomain}/region`,
  ];
  return wellKnownLabels.includes(key);
}

const within = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);

function taintErrors(text: string): string[] {
  const taint = parseTaint(text);
  const name = label('register-with-taints');
  if (taint === undefined) return [`${name}: ${JSON.stringify(text)} is not of the form key=value:effect`];
  return [...qualifiedNameErrors(taint.key), ...labelValueErrors(taint.value ?? '')].map(
    (error) => `${name}: ${JSON.stringify(text)}: ${error}`,
  );
}

/** Taints must have unique keys and effects. */
function repeatedTaints(texts: readonly string[]): string[] {
  const seen = new Set<string>();
  return texts.flatMap((text) => {
    const taint = parseTaint(text);
    if (taint === undefined) return [];
    const key = `${taint.key}:${taint.effect}`;
    const taintText = `{${taint.key} ${taint.value ?? ''} ${taint.effect} <nil>}`;
    const errors = seen.has(key) ? [`duplicated taints with the same key and effect: ${taintText}`] : [];
    seen.add(key);
    return errors;
  });
}

function addressErrors(values: NodeAgentOptions): string[] {
  const messages: string[] = [];
  for (const name of ['address', 'healthz-bind-address'] as const) {
    for (const error of ipErrors(values[name]))
      messages.push(`${label(name)} ${JSON.stringify(values[name])}: ${error}`);
  }
  for (const name of ['cluster-dns', 'dns-address'] as const) {
    for (const address of values[name]) {
      for (const error of ipErrors(address)) messages.push(`${label(name)} ${JSON.stringify(address)}: ${error}`);
    }
  }
  messages.push(...nodeIPErrors(values['node-ip']));
  return messages;
}

function combinationErrors(values: NodeAgentOptions, given: ReadonlySet<string>): string[] {
  const messages: string[] = [];
  const missing = (name: 'tls-cert-file' | 'tls-private-key-file') => (values[name] ?? '') === '';
  if (missing('tls-cert-file') !== missing('tls-private-key-file')) {
    messages.push(`${label('tls-cert-file')} and ${label('tls-private-key-file')} must be given together`);
  }
  if (values.runonce && given.has('enable-server') && values['enable-server']) {
    messages.push('--runonce must not be combined with --enable-server');
  }
  if (values['container-runtime'] !== 'remote') {
    messages.push(
      `unsupported CRI runtime: ${quoted(values['container-runtime'])}, only "remote" is currently supported`,
    );
  }
  const absent = (name: 'image-credential-provider-config' | 'image-credential-provider-bin-dir') =>
    (values[name] ?? '') === '';
  if (absent('image-credential-provider-config') !== absent('image-credential-provider-bin-dir')) {
    messages.push('--image-credential-provider-config and --image-credential-provider-bin-dir must be given together');
  }
  if ((values['system-cgroups'] ?? '') !== '' && values['cgroup-root'] === '') {
    messages.push(
      `invalid configuration: ${label('system-cgroups')} was specified and ${label('cgroup-root')} was not specified`,
    );
  }
  return messages;
}
