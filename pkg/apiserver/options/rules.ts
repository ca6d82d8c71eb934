import {
  admissionRules,
  authenticationRules,
  authorizationRules,
  authorizerRule,
  oidcRule,
  tokenExpirationRule,
  tokenRequestRule,
} from '#apiserver/options/access-rules.js';
import { auditRules } from '#apiserver/options/audit-rules.js';
import {
  etcdKeyRule,
  etcdRules,
  etcdServersRule,
  storedFormRule,
  watchCacheRule,
} from '#apiserver/options/etcd-rules.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import {
  countRule,
  enablementRule,
  fairnessRule,
  headerRules,
  identityRules,
  limitsRule,
  strictRules,
} from '#apiserver/options/server-rules.js';
import { serviceRangeRule, serviceRules } from '#apiserver/options/service-rules.js';
import { featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { metricsRules } from '#daemon/options/groups/metrics.js';
import { requiredPortRule, servingRules, tlsRules } from '#daemon/options/groups/serving.js';
import { allOf, inOrder, type Rule, together } from '#daemon/options/validate.js';

/**
 * What is wrong with a command line, in the order in which 1.24 finds it: what is completed ends the program at the first
 * fault, what is validated tells all of its faults, and what is applied ends it at the first one again.
 */
function rulesWith(port: Rule<ApiServerValues>, store: Rule<ApiServerValues>): Rule<ApiServerValues> {
  return inOrder(
    loggingRules,
    serviceRangeRule,
    tokenExpirationRule,
    watchCacheRule,
    allOf(
      countRule,
      store,
      etcdRules,
      serviceRules,
      fairnessRule,
      port,
      authenticationRules,
      headerRules,
      authorizationRules,
      auditRules,
      admissionRules,
      enablementRule,
      tokenRequestRule,
      metricsRules,
      identityRules,
      featureGateRules,
      strictRules,
      together('nodeagent-client-certificate', 'nodeagent-client-key'),
      together('proxy-client-cert-file', 'proxy-client-key-file'),
    ),
    tlsRules,
    etcdKeyRule,
    oidcRule,
    authorizerRule,
    limitsRule,
    storedFormRule,
  );
}

/** Of a server within another program, which may be given its store, and may have no port. */
export const apiServerRules: readonly Rule<ApiServerValues>[] = [rulesWith(servingRules, () => [])];

/** The rules of a server that finds its store by its options. */
export const apiServerProgramRules: readonly Rule<ApiServerValues>[] = [rulesWith(requiredPortRule, etcdServersRule)];
