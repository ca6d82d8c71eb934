import { useEffect, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import type { WhyRequest } from '#dashboard/model/messages.js';
import { objectLink } from '#dashboard/model/places.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';
import type { Answer, Finding, Subject } from '#insight/inquiry/finding.js';

type Result = { readonly answer: Answer } | { readonly trouble: Trouble };

/** Asks again when `version` changes. The last answer stays until the next one is there. */
export function useWhy(request: WhyRequest | undefined, version: string): Result | undefined {
  const { link } = useApp();
  const [result, setResult] = useState<Result | undefined>(undefined);
  const key = request === undefined ? '' : `${request.path} ${version}`;
  useEffect(() => {
    if (request === undefined) return undefined;
    let isCurrent = true;
    link.why(request).then(
      (answer) => isCurrent && setResult({ answer }),
      (error: unknown) => isCurrent && setResult({ trouble: troubleFrom(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, link]);
  return result;
}

export function WhyPanel({ request, version }: { readonly request: WhyRequest; readonly version: string }) {
  const result = useWhy(request, version);
  return (
    <section class="card why" aria-label="Why">
      <h2>Why</h2>
      {result === undefined ? <Quiet>Looking…</Quiet> : null}
      {result !== undefined && 'trouble' in result ? <TroubleNotice trouble={result.trouble} /> : null}
      {result !== undefined && 'answer' in result ? <AnswerText answer={result.answer} /> : null}
    </section>
  );
}

function AnswerText({ answer }: { readonly answer: Answer }) {
  const { verdict, summary, findings, unreadable } = answer;
  const tone = verdict === 'Stuck' ? 'bad' : verdict === 'Healthy' ? 'good' : 'busy';
  return (
    <>
      <p class="verdict">
        <span class={`status ${tone}`}>{verdict}</span> {summary}
      </p>
      {findings.length > 0 ? <Findings findings={findings} of={answer.subject} /> : null}
      {unreadable.length > 0 ? (
        <Quiet>You may not read {unreadable.join(', ')}, so causes may be missing.</Quiet>
      ) : null}
    </>
  );
}

function Findings({ findings, of }: { readonly findings: readonly Finding[]; readonly of: Subject }) {
  return (
    <ul class="findings">
      {findings.map((finding) => (
        <FindingItem key={`${finding.reason} ${finding.subject.name} ${finding.summary}`} finding={finding} of={of} />
      ))}
    </ul>
  );
}

function FindingItem({ finding, of }: { readonly finding: Finding; readonly of: Subject }) {
  const { subject, reason, summary, evidence, remedies, causes } = finding;
  const isOther = subject.kind !== of.kind || subject.name !== of.name;
  return (
    <li>
      <p>
        {isOther ? <SubjectLink subject={subject} /> : null}
        <span class="reason">{reason}</span> {summary}
      </p>
      {evidence.length > 0 ? (
        <ul class="evidence" aria-label="Evidence">
          {evidence.map(({ source, at, text, of: holder }) => (
            <li key={`${source} ${at} ${text}`}>
              <span class="source">
                {source} {holder === undefined ? '' : `of ${holder.kind} ${holder.name} `}
                {at}
              </span>
              <q>{text}</q>
            </li>
          ))}
        </ul>
      ) : null}
      {remedies.map(({ action, command }) => (
        <p key={action} class="remedy">
          <strong>Remedy:</strong> {action}
          {command === undefined ? null : <code>orchctl {command}</code>}
        </p>
      ))}
      {causes.length > 0 ? <Findings findings={causes} of={subject} /> : null}
    </li>
  );
}

function SubjectLink({ subject: { kind, namespace, name } }: { readonly subject: Subject }) {
  const { catalog } = useApp();
  const served = catalog.kinds.find((each) => each.kind === kind);
  const text = `${kind} ${name}`;
  if (served === undefined) return <strong>{text}: </strong>;
  return (
    <>
      <a href={objectLink(served, namespace, name)}>{text}</a>
      {': '}
    </>
  );
}
