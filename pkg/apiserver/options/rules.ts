import { accessRules } from '#apiserver/options/access-rules.js';
import { auditRules } from '#apiserver/options/audit-rules.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { etcdServersRule, serverRules } from '#apiserver/options/server-rules.js';
import { featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { metricsRules } from '#daemon/options/groups/metrics.js';
import { servingRules } from '#daemon/options/groups/serving.js';
import { type Rule, together } from '#daemon/options/validate.js';

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
