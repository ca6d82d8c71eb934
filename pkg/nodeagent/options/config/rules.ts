/** Fields of the configuration file that no option stands for: what 1.24 refuses about them. */
import { parseDuration } from '#apimachinery/duration.js';
import type { Plain } from '#daemon/options/config-decode.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { NodeAgentGates } from '#nodeagent/options/gates.js';

/** Nothing acts on any of them yet. */
export const configOnlyFields: readonly string[] = [
  'showHiddenMetricsForVersion',
  'shutdownGracePeriod',
  'shutdownGracePeriodByPodPriority',
  'shutdownGracePeriodCriticalPods',
];

const secondMs = 1000;

/** `fields`: decoded, in the table's names. `gates`: the feature gates in force. */
export function configOnlyErrors(fields: Plain, gates: Readonly<Record<string, boolean>>): string[] {
  const enabled = new FeatureGates(gates);
  return [...shutdownErrors(fields, enabled), ...choiceErrors(fields, 'showHiddenMetricsForVersion', ['', '1.23'])];
}

function shutdownErrors(fields: Plain, gates: NodeAgentGates): string[] {
  const messages: string[] = [];
  const names = ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const;
  const [totalMs = 0, criticalMs = 0] = names.map((name) => {
    const text = fields[name];
    return typeof text === 'string' ? parseDuration(text) : 0;
  });
  for (const [i, ms] of [totalMs, criticalMs].entries()) {
    if (ms !== 0 && ms < secondMs) messages.push(`${names[i]} must be either zero or otherwise >= 1 sec`);
  }
  if (criticalMs > totalMs) messages.push(`${names[1]} must be less than ${names[0]}`);
  const set = totalMs > 0 || criticalMs > 0;
  if (set && !gates.enabled('GracefulNodeShutdown')) {
    messages.push(`${names.join(' and ')} require feature gate GracefulNodeShutdown`);
  }
  const byPriority = fields['shutdownGracePeriodByPodPriority'];
  if (Array.isArray(byPriority) && byPriority.length > 0) {
    if (set) messages.push(`shutdownGracePeriodByPodPriority must not be combined with ${names.join(' or ')}`);
    for (const gate of ['GracefulNodeShutdown', 'GracefulNodeShutdownBasedOnPodPriority'] as const) {
      if (!gates.enabled(gate)) messages.push(`shutdownGracePeriodByPodPriority requires feature gate ${gate}`);
    }
    const priorities = byPriority.map((entry: { readonly priority: number }) => entry.priority);
    if (new Set(priorities).size < priorities.length) {
      messages.push('shutdownGracePeriodByPodPriority: a priority is given more than once');
    }
  }
  return messages;
}

function choiceErrors(fields: Plain, name: string, choices: readonly string[]): string[] {
  const value = fields[name];
  if (value === undefined || choices.includes(String(value))) return [];
  const shown = choices.map((choice) => JSON.stringify(choice)).join(', ');
  return [`${name} ${JSON.stringify(value)} must be one of: ${shown}`];
}
