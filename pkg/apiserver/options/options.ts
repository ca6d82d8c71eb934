/**
 * All options of the API server: those of release 1.24, with the product's part of their names replaced. A command
 * line may use the dialect's own names as well (`--kubelet-timeout`).
 */
import type { Dialect } from '#apimachinery/dialect.js';
import { auditOptions } from '#apiserver/options/audit.js';
import { authenticationOptions } from '#apiserver/options/authentication.js';
import { authorizationOptions } from '#apiserver/options/authorization.js';
import { etcdOptions } from '#apiserver/options/etcd.js';
import { genericServerOptions } from '#apiserver/options/generic.js';
import { networkOptions } from '#apiserver/options/network.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { featureGateOptions } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { legacyLoggingOptions, loggingOptions } from '#daemon/options/groups/logging.js';
import { metricsOptions } from '#daemon/options/groups/metrics.js';
import { servingOptions } from '#daemon/options/groups/serving.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';

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

const section = 'Deprecated';

/** Options that 1.24 still accepts without effect. */
const deprecatedOptions = {
  'cloud-provider-gce-lb-src-cidrs': {
    type: 'strings',
    inert: 'only a vendor’s load balancers use it, and none is built in',
    deprecated: 'use --cloud-provider-gce-l7lb-src-cidrs.',
    section,
    meaning: 'Sources of a cloud provider’s load balancers.',
  },
  'enable-logs-handler': {
    type: 'bool',
    default: true,
    deprecated: 'will be removed in a future version',
    section,
    meaning: 'Show /var/log at /logs/.',
  },
  'nodeagent-https': {
    type: 'bool',
    default: true,
    inert: 'node agents are always reached over HTTPS',
    inertUnless: ['true'],
    deprecated: 'node agents are always reached over HTTPS.',
    section,
    meaning: 'Reach node agents over HTTPS.',
  },
  'vendor-container-registry-config': {
    type: 'string',
    inert: 'only node agents use registries, and no vendor’s service is built in',
    section,
    meaning: "Configuration of a vendor's container registry.",
  },
} as const satisfies OptionTable;
