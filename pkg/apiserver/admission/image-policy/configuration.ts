/**
 * The configuration of the plugin ImagePolicyWebhook, which is not versioned:
 *
 * ```yaml
 * imagePolicy:
 *   kubeConfigFile: /etc/orch/image-policy.kubeconfig
 *   allowTTL: 50 # seconds that an approval is remembered
 *   denyTTL: 50 # seconds that a refusal is remembered
 *   retryBackoff: 500 # milliseconds before the second attempt
 *   defaultAllow: false # admit images if the webhook fails
 * ```
 *
 * 0 means the default, and -1 that nothing is remembered, or that there is no pause.
 */
import { formatDuration } from '#apimachinery/duration.js';
import { configurationError, type PluginConfiguration } from '#apiserver/admission/configuration.js';
import { decodeFields, type FieldTable, isPlain } from '#daemon/options/config-decode.js';

export interface ImagePolicyConfiguration {
  /** Names the webhook and the server's credentials there. */
  readonly kubeConfigFile: string;
  /** How long answers are remembered; 0: not at all. */
  readonly allowMs: number;
  readonly denyMs: number;
  readonly retryBackoffMs: number;
  readonly defaultAllow: boolean;
}

/** The member of the configuration file. 1.24 also reads a whole file with this member as this plugin's configuration. */
export const imagePolicyMember = 'imagePolicy';

const fields: FieldTable = {
  [imagePolicyMember]: {
    fields: {
      kubeConfigFile: 'string',
      allowTTL: 'int64',
      denyTTL: 'int64',
      retryBackoff: 'int64',
      defaultAllow: 'bool',
    },
  },
};

interface DecodedPolicy {
  readonly kubeConfigFile?: string;
  readonly allowTTL?: number;
  readonly denyTTL?: number;
  readonly retryBackoff?: number;
  readonly defaultAllow?: boolean;
}

interface Range {
  readonly unitMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly defaultMs: number;
}

const minuteMs = 60_000;
const backoff: Range = { unitMs: 1, minMs: 1e-6, maxMs: 5 * minuteMs, defaultMs: 500 };
const allow: Range = { unitMs: 1000, minMs: 1000, maxMs: 30 * minuteMs, defaultMs: 5 * minuteMs };
const deny: Range = { ...allow, defaultMs: minuteMs / 2 };

/** Throws OptionsError; also without a configuration, since the webhook must be named. */
export function imagePolicyConfiguration(own: PluginConfiguration | undefined): ImagePolicyConfiguration {
  if (own === undefined) throw configurationError('ImagePolicyWebhook', ['no config specified']);
  if (!isPlain(own.value)) throw configurationError(own.path, ['must be an object']);
  const errors: string[] = [];
  const decoded = decodeFields(fields, own.value, errors);
  const policy = (decoded[imagePolicyMember] ?? {}) as DecodedPolicy;
  const { kubeConfigFile = '', defaultAllow = false } = policy;
  if (kubeConfigFile === '') errors.push(`${imagePolicyMember}.kubeConfigFile: Required value`);
  const times = {
    retryBackoffMs: milliseconds(policy.retryBackoff, backoff, errors),
    allowMs: milliseconds(policy.allowTTL, allow, errors),
    denyMs: milliseconds(policy.denyTTL, deny, errors),
  };
  if (errors.length > 0) throw configurationError(own.path, errors);
  return { kubeConfigFile, defaultAllow, ...times };
}

function milliseconds(value = 0, { unitMs, minMs, maxMs, defaultMs }: Range, errors: string[]): number {
  if (value === -1) return 0;
  if (value === 0) return defaultMs;
  const ms = value * unitMs;
  if (ms >= minMs && ms <= maxMs) return ms;
  const [min, max, given] = [minMs, maxMs, ms].map(formatDuration);
  errors.push(`valid value is between ${min} and ${max}, got ${given}`);
  return 0;
}
