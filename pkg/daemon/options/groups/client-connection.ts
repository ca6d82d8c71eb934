/** Options of a daemon's connection to the API server. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Client connection';

/** The options with the daemon's default rates. */
export function clientConnectionOptions(defaults: {
  readonly qps: number;
  readonly burst: number;
  /** The dialect's Protobuf media type. */
  readonly contentType: string;
}) {
  return {
    orchconfig: {
      type: 'string',
      section,
      meaning: 'Client config file with credentials and the address of the server.',
    },
    master: { type: 'string', section, meaning: 'Address of the API server; overrides the client config.' },
    'orch-api-qps': {
      type: 'float',
      default: defaults.qps,
      section,
      meaning: 'Requests per second to the API server, on average.',
    },
    'orch-api-burst': {
      type: 'int',
      default: defaults.burst,
      section,
      meaning: 'Burst of requests to the API server before the rate limit applies.',
    },
    'orch-api-content-type': {
      type: 'string',
      default: defaults.contentType,
      oneOf: [defaults.contentType, 'application/json', ''],
      section,
      meaning: 'Media type of requests to the API server. Empty: JSON.',
    },
  } as const satisfies OptionTable;
}

export type ClientConnectionValues = OptionValues<ReturnType<typeof clientConnectionOptions>>;

/** 1.24 refuses a rate without a burst when it creates the client. */
export const burstRule: Rule<Pick<ClientConnectionValues, 'orch-api-qps' | 'orch-api-burst'>> = (values) =>
  values['orch-api-qps'] > 0 && values['orch-api-burst'] <= 0
    ? ['burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0']
    : [];
