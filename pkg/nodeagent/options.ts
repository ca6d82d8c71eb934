/** The node agent's options: one table, from which parsing, help and validation come. */
import { featureGateOptions } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { legacyLoggingOptions } from '#daemon/options/groups/legacy-logging.js';
import { loggingOptions } from '#daemon/options/groups/logging.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { generalOptions } from '#nodeagent/options/general.js';
import { podsOptions } from '#nodeagent/options/pods.js';
import { resourcesOptions } from '#nodeagent/options/resources.js';
import { servingOptions } from '#nodeagent/options/serving.js';

export const nodeAgentOptions = {
  ...genericOptions,
  ...generalOptions,
  ...servingOptions,
  ...resourcesOptions,
  ...podsOptions,
  ...featureGateOptions,
  ...loggingOptions,
  ...legacyLoggingOptions,
} as const satisfies OptionTable;

export type NodeAgentOptions = OptionValues<typeof nodeAgentOptions>;

/** `memory.available<100Mi,nodefs.available<10%` by signal. */
export function parseEvictionThresholds(text: string): { thresholds: Record<string, string>; errors: string[] } {
  const thresholds: Record<string, string> = {};
  const errors: string[] = [];
  for (const part of text.split(',').filter((item) => item !== '')) {
    const match = /^([a-zA-Z.]+)<([0-9.]+(%|[a-zA-Z]*))$/.exec(part);
    if (match?.[1] === undefined || match[2] === undefined)
      errors.push(`${JSON.stringify(part)} is not of the form signal<quantity`);
    else thresholds[match[1]] = match[2];
  }
  return { thresholds, errors };
}

/** `key=value:effect`, `key:effect`; undefined for anything else. */
export function parseTaint(text: string): { key: string; value?: string; effect: string } | undefined {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (match?.[1] === undefined || match[3] === undefined) return undefined;
  const value = match[2] ?? '';
  return value === '' ? { key: match[1], effect: match[3] } : { key: match[1], value, effect: match[3] };
}
