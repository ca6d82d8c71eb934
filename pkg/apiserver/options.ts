/** All options of the API server: those of release 1.24, with the product's part of their names replaced. */
import type { Dialect } from '#apimachinery/dialect.js';
import { unknownPlugins } from '#apiserver/admission/plugins.js';
import { auditOptions } from '#apiserver/options/audit-options.js';
import { authenticationOptions } from '#apiserver/options/authentication-options.js';
import { authorizationOptions } from '#apiserver/options/authorization-options.js';
import { etcdOptions } from '#apiserver/options/etcd-options.js';
import { genericServerOptions } from '#apiserver/options/generic-options.js';
import { networkOptions } from '#apiserver/options/network-options.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import { metricsOptions, metricsRules } from '#daemon/options/groups/metrics.js';
import { servingOptions, servingRules } from '#daemon/options/groups/serving.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

export function apiServerOptions(dialect: Dialect) {
  return {
    ...genericOptions,
    ...servingOptions({ securePort: 6443 }),
    'cert-dir': {
      type: 'string',
      default: `/var/run/${dialect.product}`,
      section: 'Secure serving',
      meaning: 'Directory of the TLS certificates; ignored when --tls-cert-file and --tls-private-key-file are given.',
    },
    ...genericServerOptions,
    ...etcdOptions,
    ...authenticationOptions,
    ...authorizationOptions,
    ...networkOptions,
    ...auditOptions,
    ...debuggingOptions,
    ...featureGateOptions,
    ...loggingOptions,
    ...metricsOptions,
  } as const satisfies OptionTable;
}

export type ApiServerValues = OptionValues<ReturnType<typeof apiServerOptions>>;

const ownRules: Rule<ApiServerValues> = (values) => {
  const messages: string[] = [];
  const missing = (name: keyof ApiServerValues) => (values[name] ?? '') === '';
  if (values['service-account-issuer'].length === 0) messages.push('--service-account-issuer is a required flag');
  if (missing('service-account-signing-key-file'))
    messages.push('--service-account-signing-key-file is a required flag');
  if (missing('etcd-certfile') !== missing('etcd-keyfile'))
    messages.push('--etcd-certfile and --etcd-keyfile must be given together');
  if (missing('nodeagent-client-certificate') !== missing('nodeagent-client-key'))
    messages.push('--nodeagent-client-certificate and --nodeagent-client-key must be given together');
  const modes = values['authorization-mode'];
  if (modes.length === 0) messages.push('at least one authorization-mode must be passed');
  if (new Set(modes).size < modes.length) messages.push('authorization-mode has mode specified more than once');
  for (const mode of modes)
    if (mode === 'ABAC' || mode === 'Webhook') messages.push(`authorization-mode ${mode} is not supported yet`);
  for (const option of ['enable-admission-plugins', 'disable-admission-plugins'] as const)
    for (const name of unknownPlugins(values[option])) messages.push(`${option} plugin "${name}" is unknown`);
  return messages;
};

/** What is wrong with a command line. */
export const apiServerRules: readonly Rule<ApiServerValues>[] = [
  servingRules,
  loggingRules,
  metricsRules,
  featureGateRules,
  ownRules,
];
