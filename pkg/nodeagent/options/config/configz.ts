/** What is in force, in the form of the configuration file: the answer of `/configz`. */
import type { Dialect } from '#apimachinery/dialect.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { OptionTable } from '#daemon/options/option.js';
import { fieldName } from '#nodeagent/options/config/value-formats.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { parseTaint } from '#nodeagent/options/identity-rules.js';

/** By the names that files of the dialect use. */
export function configInForce(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
  dialect: Dialect,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
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
    parent[key] = inFileForm(configField, type, value);
  }
  return result;
}

function inFileForm(field: string, type: string, value: unknown): unknown {
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

/** Their values may be credentials: names only are told. */
function headersOf(lines: readonly string[]): Record<string, string[]> {
  return Object.fromEntries(lines.map((line) => [line.split(':', 1)[0] ?? '', ['<masked>']]));
}
