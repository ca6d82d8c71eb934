/**
 * All options of the API server: those of release 1.24, with the product's part of their names replaced. A command
 * line may use the dialect's own names as well (`--kubelet-timeout`).
 */
import type { Dialect } from '#apimachinery/dialect.js';
import { accessRules } from '#apiserver/options/access-rules.js';
import { auditOptions } from '#apiserver/options/audit-options.js';
import { auditRules } from '#apiserver/options/audit-rules.js';
import { authenticationOptions } from '#apiserver/options/authentication-options.js';
import { authorizationOptions } from '#apiserver/options/authorization-options.js';
import { deprecatedOptions } from '#apiserver/options/deprecated-options.js';
import { etcdOptions } from '#apiserver/options/etcd-options.js';
import { genericServerOptions } from '#apiserver/options/generic-options.js';
import { networkOptions } from '#apiserver/options/network-options.js';
import { etcdServersRule, serverRules } from '#apiserver/options/server-rules.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { legacyLoggingOptions } from '#daemon/options/groups/legacy-logging.js';
import { loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import { metricsOptions, metricsRules } from '#daemon/options/groups/metrics.js';
import { servingOptions, servingRules } from '#daemon/options/groups/serving.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { type Rule, together } from '#daemon/options/validate.js';

export function apiServerOptions(dialect: Dialect) {
  const table = {
    ...genericOptions,
    ...servingOptions({ securePort: 6443 }),
    'http2-max-streams-per-connection': {
      type: 'int',
      section: 'Secure serving',
      meaning: 'Streams that one HTTP/2 connection may have open; 0 means 250.',
    },
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
    'api-service-node-port': {
      ...networkOptions['api-service-node-port'],
      aliases: [`${dialect.product}-service-node-port`],
    },
    ...auditOptions(dialect),
    ...deprecatedOptions,
    ...debuggingOptions,
    ...featureGateOptions,
    ...loggingOptions,
    ...legacyLoggingOptions,
    ...metricsOptions,
  } as const satisfies OptionTable;
  return withDialectNames(table, dialect);
}

export type ApiServerValues = OptionValues<ReturnType<typeof apiServerOptions>>;

/** What is wrong with a command line. The store is not looked at: another process may be given its store. */
export const apiServerRules: readonly Rule<ApiServerValues>[] = [
  servingRules,
  loggingRules,
  metricsRules,
  featureGateRules,
  serverRules,
  accessRules,
  auditRules,
  together('etcd-certfile', 'etcd-keyfile'),
  together('nodeagent-client-certificate', 'nodeagent-client-key'),
];

/** The rules of a server that finds its store by its options. */
export const apiServerProgramRules: readonly Rule<ApiServerValues>[] = [...apiServerRules, etcdServersRule];
