/** Explanations and forecasts as text. */
import type { Verdict } from '#cmd/orchctl/commands/why/refusal.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import type {
  Change,
  Explanation,
  ExtenderReport,
  PreemptionReport,
  RefusalGroup,
  Remedy,
} from '#scheduler/explain/explanation.js';
import type { CopiesForecast, LeavingForecast } from '#scheduler/explain/forecast.js';

export function explanationText(explanation: Explanation): string {
  const { extenders, message, node, nodes, outcome, pod, preemption, refused, remedies, scores } = explanation;
  const lines = [`Pod ${pod.namespace}/${pod.name}: ${headlines[outcome]}`, `  ${message}`];
  if (outcome === 'Fits' && node !== undefined) lines.push('', `It would go to ${node}.`);
  if (refused.length > 0) {
    const all = nodes.fitting === 0 ? '' : `, ${nodes.fitting} would take it`;
    lines.push('', `Nodes that refuse it (of ${nodes.total}${all}):`, ...refused.flatMap(groupLines));
  }
  if (scores.length > 0) {
    const plugins = scores[0]?.plugins.map(({ plugin }) => plugin) ?? [];
    const rows = scores.map((each) => [
      each.node,
      String(each.total),
      ...each.plugins.map(({ normalized, weight }) => `${normalized}×${weight}`),
    ]);
    lines.push('', 'Scores:', ...alignColumns([['NODE', 'TOTAL', ...plugins], ...rows]).map(indent));
  }
  if (preemption !== undefined) lines.push('', ...preemptionLines(preemption));
  if (extenders !== undefined) lines.push('', ...extenders.map(extenderLine));
  if (remedies.length > 0) lines.push('', 'What would help:', ...remedies.flatMap(remedyLines));
  else if (outcome === 'FitsNowhere') lines.push('', 'No small change would help.');
  return `${lines.join('\n')}\n`;
}

/** Whether the API server accepts an object, and which step refuses it. */
export function verdictText({ object, outcome, step, message, webhooks, warnings }: Verdict): string {
  const lines = [`${object}: would be ${outcome === 'Accepted' ? 'accepted' : `refused by the ${step}`}`];
  if (message !== undefined) lines.push(indent(message));
  if (webhooks.length > 0) {
    const rows = webhooks.map((each) => [each.webhook, each.outcome, `${each.milliseconds} ms`]);
    lines.push('', 'Called webhooks:', ...alignColumns([['WEBHOOK', 'OUTCOME', 'TIME'], ...rows]).map(indent));
  }
  if (warnings.length > 0) lines.push('', 'Warnings:', ...warnings.map(indent));
  return `${lines.join('\n')}\n`;
}

const headlines: Readonly<Record<Explanation['outcome'], string>> = {
  Fits: 'can be placed',
  FitsNowhere: 'fits on no node',
  ExtenderFails: 'cannot be decided: a required extender fails',
  Bound: 'has a node',
  NodeMissing: 'names a node that does not exist',
  OtherScheduler: "is not this scheduler's",
  Ended: 'no longer needs a node',
  NotAdmitted: 'the API server refuses to create it',
};

const indent = (line: string): string => `  ${line}`;

function groupLines({ examples, facts, nodes, plugin, reasons, shortages }: RefusalGroup): string[] {
  const names = `${examples.join(', ')}${nodes > examples.length ? ', …' : ''}`;
  return [
    `  ${nodes}  ${plugin}: ${reasons.join(', ')} (${names})`,
    ...(shortages ?? []).map(
      ({ requested, free, of, resource }) =>
        `       ${resource}: requested ${requested}, at best ${free} free of ${of}`,
    ),
    ...(facts === undefined ? [] : [`       ${examples[0]}: ${facts}`]),
  ];
}

function preemptionLines({ candidates, message, node, refused, tried }: PreemptionReport): string[] {
  const head = node === undefined ? `Evicting pods does not help: ${message}` : `Evicting pods on ${node} would help`;
  return [
    head,
    ...candidates.map(({ budgets, node: on, protected: protectedCount, victims }) => {
      const names = victims.map(({ name, namespace, priority }) => `${namespace}/${name} (priority ${priority})`);
      return `  ${on}: ${names.join(', ')}${protectedCount === 0 ? '' : `; ${protectedCount} protected by ${budgets.join(', ') || 'disruption budgets'}`}`;
    }),
    ...(tried === 0 ? [] : refused.map(({ nodes, reasons }) => `  ${nodes}  ${reasons.join(', ')}`)),
  ];
}

function extenderLine({ called, error, extender, points }: ExtenderReport): string {
  const uncalled = points.filter((point) => !called.includes(point));
  return [
    `Extender ${extender}:`,
    ...(called.length === 0 ? [] : [`called to ${called.join(', ')}`]),
    ...(uncalled.length === 0
      ? []
      : [`${called.length === 0 ? '' : 'and '}not called to ${uncalled.join(', ')}, which may change the result`]),
    ...(error === undefined ? [] : [`(failed: ${error})`]),
  ].join(' ');
}

function remedyLines({ changes, checked, node, text }: Remedy): string[] {
  const then = node === undefined ? '' : `: then ${node} takes it`;
  return [
    `  - ${text}${then}${checked ? '' : ' (not checked)'}`,
    ...changes.map((change) => `      ${changeText(change)}`),
  ];
}

function changeText(change: Change): string {
  if ('object' in change) {
    const { kind, metadata } = change.object as { kind?: string; metadata?: { name?: string } };
    return `${change.action} ${kind} ${metadata?.name} (see -o yaml)`;
  }
  const { kind, name, namespace } = change;
  const where = namespace === undefined ? '' : `-n ${namespace} `;
  return change.action === 'delete'
    ? `orchctl ${where}delete ${kind.toLowerCase()} ${name}`
    : `patch ${kind} ${name}: ${JSON.stringify(change.patch)}`;
}

export function copiesText({ requested, fit, message, nodes }: CopiesForecast): string {
  const rows = nodes.map(({ copies, node }) => [node, String(copies)]);
  const lines = [`${fit} of ${requested} copies fit.`];
  if (rows.length > 0) lines.push('', ...alignColumns([['NODE', 'COPIES'], ...rows]));
  if (message !== undefined) lines.push('', `The next one does not: ${message}`);
  return `${lines.join('\n')}\n`;
}

export function leavingText({ moves, node }: LeavingForecast, drain: boolean): string {
  const head = drain ? `If ${node} were drained` : `Without ${node}`;
  if (moves.length === 0) return `${head}: it has no pods.\n`;
  const rows = moves.map(({ name, namespace, outcome, reason, to }) => [namespace, name, outcome, to ?? reason ?? '']);
  return `${head}:\n${alignColumns([['NAMESPACE', 'NAME', 'OUTCOME', 'TO OR WHY'], ...rows]).join('\n')}\n`;
}
