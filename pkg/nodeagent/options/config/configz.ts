/** The current configuration in the configuration file's format: the response of `/configz`. */
import type { Dialect } from '#apimachinery/dialect.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { OptionTable } from '#daemon/options/option.js';
import { type FileOnlySettings, noFileSettings } from '#nodeagent/options/config/file-only.js';
import { fieldName } from '#nodeagent/options/config/value-formats.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { parseTaint } from '#nodeagent/options/identity-rules.js';

function fileOnlyValues(settings: FileOnlySettings): Record<string, unknown> {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods } = settings;
  const { shutdownGracePeriodByPodPriority: byPriority, showHiddenMetricsForVersion: version } = settings;
  return {
    shutdownGracePeriod: formatDuration(shutdownGracePeriod),
    shutdownGracePeriodCriticalPods: formatDuration(shutdownGracePeriodCriticalPods),
    ...(byPriority.length === 0 ? {} : { shutdownGracePeriodByPodPriority: byPriority }),
    ...(version === '' ? {} : { showHiddenMetricsForVersion: version }),
  };
}

/** With the dialect's field names. */
export function currentConfig(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
  dialect: Dialect,
  settings: FileOnlySettings = noFileSettings,
): Record<string, unknown> {
  const result: Record<string, unknown> = fileOnlyValues(settings);
  for (const [name, { configField, type }] of Object.entries(table)) {
    const value = values[name];
    if (configField === undefined || value === undefined) continue;
    const [first = '', ...rest] = configField.split('.');
    let parent = result;
    let key = fieldName(first, dialect);
    for (const next of rest) {
      const below = (parent[key] ?? {}) as Record<string, unknown>;
      parent[key] = below;
      [parent, key] = [below, next];
    }
    parent[key] = toFileValue(configField, type, value);
  }
  return result;
}

function toFileValue(field: string, type: string, value: unknown): unknown {
  if (type === 'duration') return formatDuration(value as number);
  switch (field) {
    case 'evictionHard':
    case 'evictionSoft':
      return parseEvictionThresholds(value as string).thresholds;
    case 'registerWithTaints':
      return (value as string[]).flatMap((text) => parseTaint(text) ?? []);
    case 'staticPodURLHeader':
      return headersOf(value as string[]);
    default:
      return value;
  }
}

/** Header values may be credentials, so they are masked. */
function headersOf(lines: readonly string[]): Record<string, string[]> {
  return Object.fromEntries(lines.map((line) => [line.split(':', 1)[0] ?? '', ['<masked>']]));
}
