/**
 * The node agent's option table for a dialect, and its rules: names, defaults and deprecations of release 1.24, with
 * the product's part of names, paths and media types in the dialect's words.
 */
import type { Dialect } from '#apimachinery/dialect.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { cipherErrors } from '#daemon/options/groups/serving.js';
import type { OptionDeclaration, OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';
import { allowedSysctlErrors } from '#nodeagent/admission/sysctls.js';
import { choiceRules } from '#nodeagent/options/choice-rules.js';
import { type NodeAgentOptions, nodeAgentOptions } from '#nodeagent/options/declarations.js';
import { evictionRules } from '#nodeagent/options/eviction-rules.js';
import { gateRules, seccompRule } from '#nodeagent/options/gate-rules.js';
import { identityRules } from '#nodeagent/options/identity-rules.js';
import { limitRules } from '#nodeagent/options/limit-rules.js';
import { reservationRules } from '#nodeagent/options/reservation-rules.js';
import { serviceProxyRules } from '#nodeagent/options/service-proxy.js';

export type NodeAgentOptionTable = typeof nodeAgentOptions;

/** Fields of the configuration file behind options that all daemons share. */
const sharedFields: Readonly<Record<string, string>> = {
  'feature-gates': 'featureGates',
  'log-flush-frequency': 'logging.flushFrequency',
  'logging-format': 'logging.format',
  v: 'logging.verbosity',
  vmodule: 'logging.vmodule',
};

/** Options with a field in the configuration file that are not deprecated in favor of it. */
const lasting = new Set([
  'log-flush-frequency',
  'node-lease-duration-seconds',
  'node-status-report-frequency',
  'seccomp-default',
  'v',
  'vmodule',
]);

/** Follows `has been deprecated, `. */
const inFavorOfConfig = 'give it in the file of --config';

/** The table in the words of the dialect. Also answers to the dialect's own option names (`--kube-api-qps`). */
export function nodeAgentOptionTable(dialect: Dialect): NodeAgentOptionTable {
  const defaults = dialectDefaults(dialect);
  const entries = Object.entries(nodeAgentOptions).map(([name, base]): [string, OptionDeclaration] => {
    const declaration: OptionDeclaration = base;
    const configField = declaration.configField ?? sharedFields[name];
    const superseded = configField !== undefined && !lasting.has(name);
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

/** What TLS is to be: looked at when the server is made. */
const cipherRule: Rule<NodeAgentOptions> = (values) =>
  cipherErrors(values['tls-cipher-suites'], values['tls-min-version'] ?? '');

/** What 1.24 says of a setting whichever way it was given: by a flag or in the file. */
function configuration(rule: Rule<NodeAgentOptions>): Rule<NodeAgentOptions> {
  return (values, given) => rule(values, given).map((message) => `invalid configuration: ${message}`);
}

/** Everything that release 1.24 refuses, over values that are complete: no configuration file is still to come. */
export const completeRules: readonly Rule<NodeAgentOptions>[] = [
  featureGateRules,
  loggingRules,
  configuration(limitRules),
  configuration(choiceRules),
  configuration(gateRules),
  identityRules,
  configuration(reservationRules),
  evictionRules,
  serviceProxyRules,
  (values) => allowedSysctlErrors(values['allowed-unsafe-sysctls']),
  cipherRule,
  seccompRule,
];

/**
 * The rules of a command line. With `--config` the options alone say too little: `resolveOptions` in
 * `config-file.ts` applies `completeRules` when the file has been read.
 */
export const nodeAgentOptionRules: readonly Rule<OptionValues<NodeAgentOptionTable>>[] = completeRules.map(
  (rule) => (values, given) => ((values.config ?? '') === '' ? rule(values, given) : []),
);
