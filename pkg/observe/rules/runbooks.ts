/** Renders the page of runbooks. Pure. */

import type { Names } from '#observe/names.js';
import { type Alert, alertGroups } from '#observe/rules/rules.js';

/** @param other Names of the other dialect, whose alerts are on the same page. */
export function runbookPage(names: Names, other: Names): string {
  const others = alertGroups(other).flatMap(({ alerts }) => alerts);
  const printed = new Set<string>();
  const lines = [
    '# Runbooks',
    '',
    'Written by `make generate` from `pkg/observe/rules`. The meaning of each alert, commands for a closer look, and remedies. A cluster in the',
    `\`${other.dialect.name}\` dialect has the names in parentheses. \`DATA_DIR\` is /var/lib/orch by default.`,
    '[How to observe a cluster](observe.md).',
  ];
  let place = 0;
  for (const { title, alerts } of alertGroups(names)) {
    lines.push('', `## ${title}`);
    for (const alert of alerts) {
      const twin = others[place++];
      if (twin === undefined || printed.has(alert.name)) continue;
      printed.add(alert.name);
      lines.push('', ...section(alert, twin));
    }
  }
  return `${lines.join('\n')}\n`;
}

function section({ name, severity, summary, runbook }: Alert, other: Alert): string[] {
  const anchor = other.name === name ? [] : [`<a id="${other.name.toLowerCase()}"></a>`, ''];
  const twin = other.name === name ? '' : ` (${other.name})`;
  return [
    ...anchor,
    `### ${name}`,
    '',
    `*${severity}*${twin}: ${summary
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '<$1>')
      .replaceAll(/\{\{ .*? \}\}/g, 'N')
      .replaceAll(/<(\w+)>/g, '`$1`')}`,
    '',
    runbook.meaning,
    '',
    '```sh',
    ...runbook.look,
    '```',
    '',
    runbook.act,
  ];
}
