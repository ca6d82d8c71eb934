/** `orch check cis`: judges the running cluster by the CIS benchmark for release 1.24. */
import { join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { dialectByName } from '#apimachinery/dialect.js';
import { apiServerChecks } from '#cluster/check/cis/api-server.js';
import { type Finding, findingsOf, type Outcome } from '#cluster/check/cis/check.js';
import { controlPlaneChecks } from '#cluster/check/cis/control-plane.js';
import { controlPlaneFileChecks } from '#cluster/check/cis/control-plane-files.js';
import { etcdChecks } from '#cluster/check/cis/etcd.js';
import type { ClusterFacts } from '#cluster/check/cis/facts.js';
import { nodeChecks } from '#cluster/check/cis/node.js';
import { policyChecks } from '#cluster/check/cis/policies.js';
import { gatherFacts } from '#cluster/check/gather.js';
import { adminClient, requestTimeoutMs } from '#cluster/clients/api-clients.js';
import { layoutOf } from '#cluster/config/layout.js';
import { dataDir, outputOption, unitsDir } from '#cluster/config/options.js';
import { readSettings } from '#cluster/config/settings.js';
import { readIdentity } from '#cluster/process/identity.js';
import { formatColumns } from '#cluster/terminal/format.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { runSubcommand } from '#cluster/terminal/subcommand.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';

const help = `Checks of a running cluster.

Usage:
  orch check cis [flags]   judge it by the CIS benchmark for release 1.24
`;

const cisOptions = {
  ...dataDir,
  ...outputOption,
  all: { type: 'bool', section: 'Output', meaning: 'Show what passes and what does not apply, too.' },
} as const satisfies OptionTable;

/** Exit code 1 when a check fails. */
export function check(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch check', help, argv, {
    cis: {
      table: cisOptions,
      description:
        'Judge the running cluster of this machine by the CIS benchmark for release 1.24: the options of its daemons, its files and its objects. A check fails, or a person has to review it; each names a remedy.',
      run: ({ values }) => checkCis(values),
    },
  });
}

async function checkCis(values: OptionValues<typeof cisOptions>): Promise<number> {
  const layout = layoutOf(resolve(values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings === undefined) throw new SetupError(`${layout.root} holds no cluster; give its --data-dir`);
  if (readIdentity(layout.process) === undefined)
    throw new SetupError(`the cluster in ${layout.root} is not running; start it with orch up`);
  const client =
    settings.joined === undefined ? await adminClient(layout, settings, { timeoutMs: requestTimeoutMs }) : undefined;
  try {
    const unit = join(unitsDir, 'orch.service');
    const facts = await gatherFacts({ layout, settings, unit, client });
    const findings = judge(facts, settings.dialect);
    stdout.write(values.output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : format(findings, values.all));
    return findings.some(({ outcome }) => outcome === 'fail') ? 1 : 0;
  } finally {
    await client?.close();
  }
}

/** All findings, in the order of the benchmark. Pure. */
export function judge({ server, node, objects }: ClusterFacts, dialect: 'orch' | 'kubernetes'): Finding[] {
  const findings = [
    ...(server === undefined
      ? []
      : findingsOf([...controlPlaneFileChecks, ...apiServerChecks, ...controlPlaneChecks, ...etcdChecks], server)),
    ...findingsOf(nodeChecks, node),
    ...(objects === undefined ? [] : findingsOf(policyChecks(dialectByName(dialect)), objects)),
  ];
  return findings.sort((a, b) => compareIds(a.id, b.id));
}

/** `1.2.9` before `1.2.10`. */
function compareIds(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const outcomes: readonly Outcome[] = ['pass', 'fail', 'review', 'not applicable'];

function format(findings: readonly Finding[], isComplete: boolean): string {
  const shown = findings.filter(({ outcome }) => isComplete || outcome === 'fail' || outcome === 'review');
  const rows = shown.map(({ id, outcome, title, why }) => [id, outcome, title, why]);
  const remedies = shown.filter(({ remedy }) => remedy !== '').map(({ id, remedy }) => [id, remedy]);
  const count = (counted: Outcome) => findings.filter(({ outcome }) => outcome === counted).length;
  const summary = outcomes.map((outcome) => `${count(outcome)} ${outcome}`).join(', ');
  return [
    rows.length === 0 ? '' : formatColumns([['CHECK', 'OUTCOME', 'RECOMMENDATION', 'OBSERVED'], ...rows]),
    remedies.length === 0 ? '' : `\nRemedies:\n${formatColumns(remedies)}`,
    `\n${summary}\n`,
  ].join('');
}
