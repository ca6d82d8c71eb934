/** The answer about an object as text: the chain of causes, each with its evidence and what would help. */
import { type Answer, type Finding, rootCauses, subjectText } from '#insight/inquiry/finding.js';

const verdicts: Readonly<Record<Answer['verdict'], string>> = {
  Healthy: 'healthy',
  Progressing: 'in progress',
  Stuck: 'stuck',
};

export function answerText({ subject, verdict, summary, findings, unreadable }: Answer): string {
  const lines = [`${subjectText(subject)}: ${verdicts[verdict]}`, `  ${summary}`];
  const isChain = findings.some(({ causes }) => causes.length > 0) || findings.length > 1;
  if (isChain) lines.push('', 'Why:', ...findings.flatMap((each) => chainLines(each, '  ', subject.name)));
  for (const root of rootCauses(findings)) lines.push(...rootLines(root, isChain));
  if (unreadable.length > 0)
    lines.push('', `Some causes may be missing, because you may not read: ${unreadable.join(', ')}.`);
  return `${lines.join('\n')}\n`;
}

function chainLines({ subject, summary, causes }: Finding, indent: string, parent: string): string[] {
  const where = subject.name === parent ? '' : `${subjectText(subject)}: `;
  return [`${indent}- ${where}${summary}`, ...causes.flatMap((each) => chainLines(each, `${indent}  `, subject.name))];
}

function rootLines({ subject, summary, evidence, remedies }: Finding, isChain: boolean): string[] {
  const title = isChain ? ['', `${subjectText(subject)}: ${summary}`] : [''];
  const facts = evidence.flatMap(({ at, of, source, text }) => {
    const where = of === undefined ? at : `${subjectText(of)} ${at}`;
    const [first = '', ...others] = text.split('\n');
    if (source !== 'log') return [`  ${source} ${where}: ${first}`, ...others.map((line) => `    ${line}`)];
    return [`  log of ${where}:`, ...[first, ...others].map((line) => `    | ${line}`)];
  });
  const help = remedies.flatMap(({ action, command }) => [
    `  - ${action}`,
    ...(command === undefined ? [] : [`      orchctl ${command}`]),
  ]);
  return [...title, ...facts, ...(help.length === 0 ? [] : ['', 'What would help:', ...help])];
}
