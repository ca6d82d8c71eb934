/** A report as text for people. Pure. */
import type { Report } from '#testcluster/report/report.js';

/** Kinds of requests shown per client. */
const shownRequests = 10;
const gap = 3;

export function reportText({ clients, findings, faults, clusterSeconds, seconds }: Report): string {
  const requests = clients.flatMap(({ userAgent, byRequest, perSecond = 0 }) =>
    byRequest.slice(0, shownRequests).map(({ verb, resource, count, errors }, i) => [
      i === 0 ? userAgent : '',
      i === 0 ? String(perSecond) : '',
      ...[verb, resource, String(count)],
      Object.entries(errors)
        .map(([reason, times]) => `${reason} ${times}`)
        .join(', '),
    ]),
  );
  const tables = [
    [['CLIENT', 'PER SECOND', 'VERB', 'RESOURCE', 'COUNT', 'ERRORS'], ...requests],
    [
      ['FAULT', 'MATCHED', 'INJECTED'],
      ...faults.map(({ name, matched, injected }) => [name, String(matched), String(injected)]),
    ],
    [
      ['FINDING', 'CLIENT', 'SUBJECT', 'WHAT'],
      ...findings.map(({ category, userAgent, subject, message }) => [category, userAgent, subject, message]),
    ],
  ].filter((rows) => rows.length > 1);
  const end = findings.length === 0 ? ['No findings.'] : [];
  const head = `${seconds} s, ${clusterSeconds} s of the cluster's clock`;
  return [head, ...tables.map(aligned), ...end].map((part) => `${part}\n`).join('\n');
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + gap))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}
