/** Fields of the configuration file that have no option: their values, and their rules with the messages of 1.24. */
import { formatDuration, parseDuration } from '#apimachinery/duration.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { Plain } from '#daemon/options/config-decode.js';
import type { NodeAgentGates } from '#nodeagent/options/gates.js';

export interface ShutdownPeriodField {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

export interface FileOnlySettings {
  /** ms. */
  readonly shutdownGracePeriod: number;
  /** ms. */
  readonly shutdownGracePeriodCriticalPods: number;
  readonly shutdownGracePeriodByPodPriority: readonly ShutdownPeriodField[];
  /** Empty, or the release before this one: hidden metrics are shown. */
  readonly showHiddenMetricsForVersion: string;
}

/** Without a file. */
export const noFileSettings: FileOnlySettings = {
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [],
  showHiddenMetricsForVersion: '',
};

export const fileOnlyFields: readonly string[] = Object.keys(noFileSettings);

/** Those of them that have no effect, and why. */
export const idleFields: Readonly<Record<string, string>> = {
  showHiddenMetricsForVersion: 'no metric of the agent is hidden',
};

const secondMs = 1000;

/** `fields`: decoded, with the table's names. */
export function fileOnlySettings(
  fields: Plain,
  gates: NodeAgentGates,
): { readonly settings: FileOnlySettings; readonly errors: readonly string[] } {
  const durationOf = (name: string) => {
    const text = fields[name];
    return typeof text === 'string' ? parseDuration(text) : 0;
  };
  const byPriority = fields['shutdownGracePeriodByPodPriority'];
  const settings: FileOnlySettings = {
    shutdownGracePeriod: durationOf('shutdownGracePeriod'),
    shutdownGracePeriodCriticalPods: durationOf('shutdownGracePeriodCriticalPods'),
    shutdownGracePeriodByPodPriority: Array.isArray(byPriority) ? (byPriority as ShutdownPeriodField[]) : [],
    showHiddenMetricsForVersion: String(fields['showHiddenMetricsForVersion'] ?? ''),
  };
  const errors = [...shutdownErrors(settings, gates), ...versionErrors(settings.showHiddenMetricsForVersion)];
  return { settings, errors };
}

function shutdownErrors(settings: FileOnlySettings, gates: NodeAgentGates): string[] {
  const names = ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'] as const;
  const messages: string[] = [];
  const [totalMs, criticalMs] = [settings.shutdownGracePeriod, settings.shutdownGracePeriodCriticalPods];
  const isSet = totalMs > 0 || criticalMs > 0;
  const isByPriority = settings.shutdownGracePeriodByPodPriority.length > 0;
  if (gates.enabled('GracefulNodeShutdown')) {
    if (criticalMs > totalMs) {
      messages.push(`${names[1]} ${formatDuration(criticalMs)} must be <= ${names[0]} ${formatDuration(totalMs)}`);
    }
    for (const [i, ms] of [totalMs, criticalMs].entries()) {
      if (ms < 0 || (ms > 0 && ms < secondMs)) {
        messages.push(`${names[i]} ${formatDuration(ms)} must be either zero or otherwise >= 1 sec`);
      }
    }
  } else if (isSet) {
    messages.push(`specifying ${names[0]} or ${names[1]} requires feature gate GracefulNodeShutdown`);
  }
  if (!gates.enabled('GracefulNodeShutdownBasedOnPodPriority')) {
    if (isByPriority) {
      messages.push(
        'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
      );
    }
  } else if (isByPriority && isSet) {
    messages.push('Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time');
  }
  return messages.map((message) => `invalid configuration: ${message}`);
}

function versionErrors(version: string): string[] {
  return ['', '1.23'].includes(version)
    ? []
    : [`showHiddenMetricsForVersion ${quoted(version)} must be one of: "", "1.23"`];
}
