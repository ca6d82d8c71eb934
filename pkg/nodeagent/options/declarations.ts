/** The node agent's options: one table, from which parsing, help and validation come. */
import { featureGateOptions } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { legacyLoggingOptions } from '#daemon/options/groups/legacy-logging.js';
import { loggingOptions } from '#daemon/options/groups/logging.js';
import { tracingOptions } from '#daemon/options/groups/tracing.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { collectorOptions } from '#nodeagent/options/collector.js';
import { generalOptions } from '#nodeagent/options/general.js';
import { podNetworkOptions } from '#nodeagent/options/pod-network.js';
import { podsOptions } from '#nodeagent/options/pods.js';
import { resourcesOptions } from '#nodeagent/options/resources.js';
import { serviceProxyOptions } from '#nodeagent/options/service-proxy.js';
import { servingOptions } from '#nodeagent/options/serving.js';

export const nodeAgentOptions = {
  ...genericOptions,
  ...generalOptions,
  ...servingOptions,
  ...resourcesOptions,
  ...podsOptions,
  ...serviceProxyOptions,
  ...podNetworkOptions,
  ...collectorOptions,
  ...featureGateOptions,
  ...loggingOptions,
  ...legacyLoggingOptions,
  ...tracingOptions,
} as const satisfies OptionTable;

export type NodeAgentOptions = OptionValues<typeof nodeAgentOptions>;
