/** What was skipped, for people. */
import type { Skip } from './tap-count.js';

const maxNames = 5;

/** A line for each reason, the one with the most tests first. Pure. */
export function skipLines(skips: readonly Skip[]): string[] {
  const byReason = new Map<string, Skip[]>();
  for (const skip of skips) byReason.set(skip.why, [...(byReason.get(skip.why) ?? []), skip]);
  return [...byReason]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([why, tests]) => {
      const names = [...new Set(tests.map(({ name }) => name))];
      const more = names.length > maxNames ? `, and ${names.length - maxNames} more` : '';
      return `# ${tests.length} skipped, ${why === '' ? 'without a reason' : why}: ${names.slice(0, maxNames).join(', ')}${more}`;
    });
}
