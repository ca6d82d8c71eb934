/**
 * The node agent's option table for a dialect, and its rules: names, defaults and deprecations of release 1.24, with
 * product names, paths and media types of the dialect.
 */
import type { Dialect } from '#apimachinery/dialect.js';
import { formatDuration, parseDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { isQuantity, quantitySign } from '#apimachinery/quantity.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { FeatureGates, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { cipherErrors } from '#daemon/options/groups/serving.js';
import type { OptionDeclaration, OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';
import { allowedSysctlErrors } from '#nodeagent/admission/sysctls.js';
import { type NodeAgentOptions, nodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import type { NodeAgentGate } from '#nodeagent/options/gates.js';
import { identityRules } from '#nodeagent/options/identity-rules.js';
import { label, type OptionName } from '#nodeagent/options/label.js';
import { limitRules } from '#nodeagent/options/limit-rules.js';
import { hairpinModes } from '#nodeagent/options/pods.js';
import { reservationRules } from '#nodeagent/options/reservation-rules.js';
import { topologyPolicies, topologyScopes } from '#nodeagent/options/resources.js';
import { serviceProxyRules } from '#nodeagent/options/service-proxy.js';

interface Gated {
  readonly name: OptionName;
  readonly gates: readonly NodeAgentGate[];
  /** Whether the value needs the gates. */
  readonly used: (values: NodeAgentOptions) => boolean;
}

const defaultQuotaPeriodMs = 100;

const table: readonly Gated[] = [
  {
    name: 'cpu-cfs-quota-period',
    gates: ['CustomCPUCFSQuotaPeriod'],
    used: (values) => values['cpu-cfs-quota-period'] !== defaultQuotaPeriodMs,
  },
  { name: 'cpu-manager-policy', gates: ['CPUManager'], used: (values) => values['cpu-manager-policy'] !== 'none' },
  {
    name: 'cpu-manager-policy-options',
    gates: ['CPUManager', 'CPUManagerPolicyOptions'],
    used: (values) => Object.keys(values['cpu-manager-policy-options']).length > 0,
  },
  {
    name: 'memory-manager-policy',
    gates: ['MemoryManager'],
    used: (values) => values['memory-manager-policy'] !== 'None',
  },
  {
    name: 'topology-manager-policy',
    gates: ['TopologyManager'],
    used: (values) => values['topology-manager-policy'] !== 'none',
  },
  {
    name: 'topology-manager-scope',
    gates: ['TopologyManager'],
    used: (values) => values['topology-manager-scope'] !== 'container',
  },
  {
    name: 'image-credential-provider-config',
    gates: ['NodeAgentCredentialProviders'],
    used: (values) => (values['image-credential-provider-config'] ?? '') !== '',
  },
  { name: 'memory-swap-behavior', gates: ['NodeSwap'], used: (values) => values['memory-swap-behavior'] !== '' },
  { name: 'qos-reserved', gates: ['QOSReserved'], used: (values) => Object.keys(values['qos-reserved']).length > 0 },
  {
    name: 'rotate-server-certificates',
    gates: ['RotateNodeAgentServerCertificate'],
    used: (values) => values['rotate-server-certificates'],
  },
];

/** 1.24 checks this gate among the flags, with its own text (specification 3, 2.1). */
const seccompRule: Rule<NodeAgentOptions> = (values) =>
  values['seccomp-default'] && !new FeatureGates(values['feature-gates']).enabled('SeccompDefault')
    ? ['the SeccompDefault feature gate must be enabled in order to use the --seccomp-default flag']
    : [];

const gateRules: Rule<NodeAgentOptions> = (values) => {
  const gates = new FeatureGates(values['feature-gates']);
  const messages = table
    .filter(({ used }) => used(values))
    .flatMap(({ name, gates: needed }) =>
      needed.filter((gate) => !gates.enabled(gate)).map((gate) => `${label(name)} requires feature gate ${gate}`),
    );
  const periodMs = values['cpu-cfs-quota-period'];
  if (periodMs < 0.001 || periodMs > 1000) {
    messages.push(
      `${label('cpu-cfs-quota-period')} ${formatDuration(periodMs)} must be between 1usec and 1sec, inclusive`,
    );
  }
  return messages;
};

/** Signals that may have thresholds. */
const evictionSignals: readonly string[] = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'allocatableMemory.available',
  'pid.available',
];

/** Eviction thresholds (specification 3, 2.1). */
const evictionRules: Rule<NodeAgentOptions> = (values) => {
  const messages: string[] = [];
  for (const name of ['eviction-hard', 'eviction-soft'] as const) {
    const { thresholds, errors } = parseEvictionThresholds(values[name] ?? '');
    for (const error of errors) messages.push(`${label(name)}: ${error}`);
    for (const [signal, amount] of Object.entries(thresholds)) messages.push(...amountErrors(name, signal, amount));
  }
  const soft = parseEvictionThresholds(values['eviction-soft'] ?? '').thresholds;
  const graces = values['eviction-soft-grace-period'];
  for (const signal of Object.keys(soft)) {
    if (!Object.hasOwn(graces, signal)) {
      messages.push(
        `${label('eviction-soft-grace-period')}: grace period must be specified for the soft threshold of ${signal}`,
      );
    }
  }
  for (const [signal, grace] of Object.entries(graces)) messages.push(...graceErrors(signal, grace));
  for (const [signal, amount] of Object.entries(values['eviction-minimum-reclaim'])) {
    messages.push(...amountErrors('eviction-minimum-reclaim', signal, amount));
  }
  if (values['eviction-pressure-transition-period'] < 0) {
    messages.push(`${label('eviction-pressure-transition-period')} must not be negative`);
  }
  return messages;
};

function amountErrors(
  name: 'eviction-hard' | 'eviction-soft' | 'eviction-minimum-reclaim',
  signal: string,
  amount: string,
): string[] {
  if (!evictionSignals.includes(signal)) return [`${label(name)}: unknown signal ${JSON.stringify(signal)}`];
  if (amount.endsWith('%')) {
    const percent = Number(amount.slice(0, -1));
    return percent >= 0 && percent <= 100
      ? []
      : [`${label(name)}: ${signal}: percentage ${amount} must be between 0% and 100%`];
  }
  // A threshold of 0 would never be crossed.
  const isPositive = isQuantity(amount) && quantitySign(amount) > 0;
  if (isQuantity(amount) && !isPositive && name !== 'eviction-minimum-reclaim')
    return [`${label(name)}: eviction threshold ${signal} must be positive: ${amount}`];
  return isQuantity(amount) && quantitySign(amount) >= 0
    ? []
    : [`${label(name)}: ${signal}: ${JSON.stringify(amount)} must be a percentage or a quantity that is not negative`];
}

function graceErrors(signal: string, text: string): string[] {
  const name = label('eviction-soft-grace-period');
  if (!evictionSignals.includes(signal)) return [`${name}: unknown signal ${JSON.stringify(signal)}`];
  try {
    return parseDuration(text) >= 0 ? [] : [`${name}: ${signal}: ${text} must not be negative`];
  } catch (error) {
    return [`${name}: ${signal}: ${messageOf(error)}`];
  }
}

/** Enumerated settings, each with its text of 1.24. */
const choiceRules: Rule<NodeAgentOptions> = (values) => {
  const messages: string[] = [];
  const policy = values['topology-manager-policy'];
  if (!topologyPolicies.includes(policy)) {
    const list = `[${topologyPolicies.map(quoted).join(' ')}]`;
    messages.push(`${label('topology-manager-policy')} ${quoted(policy)} must be one of: ${list}`);
  }
  const scope = values['topology-manager-scope'];
  if (!topologyScopes.includes(scope)) {
    const list = topologyScopes.map(quoted).join(', or ');
    messages.push(`${label('topology-manager-scope')} ${quoted(scope)} must be one of: ${list}`);
  }
  const mode = values['hairpin-mode'];
  if (!hairpinModes.includes(mode)) {
    const [last = '', ...others] = hairpinModes.map(quoted).reverse();
    const list = `${others.reverse().join(', ')} or ${last}`;
    messages.push(`option ${quoted(mode)} specified for ${label('hairpin-mode')}. Valid options are ${list}`);
  }
  return messages;
};

export type NodeAgentOptionTable = typeof nodeAgentOptions;

/** Configuration file fields of options that all daemons share. */
const sharedFields: Readonly<Record<string, string>> = {
  'feature-gates': 'featureGates',
  'log-flush-frequency': 'logging.flushFrequency',
  'logging-format': 'logging.format',
  v: 'logging.verbosity',
  vmodule: 'logging.vmodule',
};

/** Options that are not deprecated in favor of their configuration file field. */
const notDeprecated = new Set([
  'log-flush-frequency',
  'node-lease-duration-seconds',
  'node-status-report-frequency',
  'seccomp-default',
  'v',
  'vmodule',
]);

/** Follows `has been deprecated, `. */
const inFavorOfConfig = 'set it in the --config file';

/** The table with the dialect's names. Also accepts the dialect's option names (`--kube-api-qps`). */
export function nodeAgentOptionTable(dialect: Dialect): NodeAgentOptionTable {
  const defaults = dialectDefaults(dialect);
  const entries = Object.entries(nodeAgentOptions).map(([name, base]): [string, OptionDeclaration] => {
    const declaration: OptionDeclaration = base;
    const configField = declaration.configField ?? sharedFields[name];
    const superseded = configField !== undefined && !notDeprecated.has(name);
    const deprecated = declaration.deprecated ?? (superseded ? inFavorOfConfig : undefined);
    return [
      name,
      {
        ...declaration,
        ...(name === 'kubeconfig' ? { aliases: [`${dialect.shortName}config`].filter((alias) => alias !== name) } : {}),
        ...(configField === undefined ? {} : { configField }),
        ...(deprecated === undefined ? {} : { deprecated }),
        ...(Object.hasOwn(defaults, name) ? { default: defaults[name] } : {}),
      },
    ];
  });
  return withDialectNames<OptionTable>(Object.fromEntries(entries), dialect) as NodeAgentOptionTable;
}

function dialectDefaults({ components, product, protobufMediaType }: Dialect): Readonly<Record<string, unknown>> {
  const root = `/var/lib/${components.nodeAgent}`;
  return {
    'cert-dir': `${root}/pki`,
    'orch-api-content-type': protobufMediaType,
    'root-dir': root,
    'volume-plugin-dir': `/usr/libexec/${product}/${components.nodeAgent}-plugins/volume/exec/`,
  };
}

/** TLS settings; used when the server is created. */
const cipherRule: Rule<NodeAgentOptions> = (values) =>
  cipherErrors(values['tls-cipher-suites'], values['tls-min-version'] ?? '');

/** 1.24's prefix of errors in settings that may come from a flag or the file. */
function withConfigurationPrefix(rule: Rule<NodeAgentOptions>): Rule<NodeAgentOptions> {
  return (values, given) => rule(values, given).map((message) => `invalid configuration: ${message}`);
}

/** All rules of release 1.24, for complete values: after the configuration file has been read. */
export const completeRules: readonly Rule<NodeAgentOptions>[] = [
  featureGateRules,
  loggingRules,
  withConfigurationPrefix(limitRules),
  withConfigurationPrefix(choiceRules),
  withConfigurationPrefix(gateRules),
  identityRules,
  withConfigurationPrefix(reservationRules),
  evictionRules,
  serviceProxyRules,
  (values) => allowedSysctlErrors(values['allowed-unsafe-sysctls']),
  cipherRule,
  seccompRule,
];

/**
 * The rules of a command line. With `--config` the options are incomplete: `resolveOptions` applies `completeRules`
 * once the file has been read.
 */
export const nodeAgentOptionRules: readonly Rule<OptionValues<NodeAgentOptionTable>>[] = completeRules.map(
  (rule) => (values, given) => ((values.config ?? '') === '' ? rule(values, given) : []),
);
