import { useEffect, useState } from 'preact/hooks';
import { WhoCan } from '#dashboard/client/pages/who-can-form.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { ScrollBox } from '#dashboard/client/parts/scroll-box.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';
import type { Rule } from '#dashboard/model/who-can.js';

interface Review {
  readonly status?: {
    readonly resourceRules?: readonly Rule[];
    readonly incomplete?: boolean;
    readonly evaluationError?: string;
  };
}

/** What the user may do in a namespace, and who may do something. */
export function AccessPage() {
  const { requests, dialect, namespace } = useApp();
  const inside = namespace ?? dialect.namespaces.default;
  const [review, setReview] = useState<Review | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const group = dialect.groupName('authorization');
  useEffect(() => {
    const body = { apiVersion: `${group}/v1`, kind: 'SelfSubjectRulesReview', spec: { namespace: inside } };
    setReview(undefined);
    requests
      .send<Review>('POST', `/apis/${group}/v1/selfsubjectrulesreviews`, {
        ...{ contentType: 'application/json', body: JSON.stringify(body) },
      })
      .then(setReview, (error: unknown) => setTrouble(troubleFrom(error)));
  }, [inside, group, requests]);
  const rules = review?.status?.resourceRules ?? [];
  return (
    <div class="page">
      <header class="page-head">
        <h1>Access</h1>
        <p class="count">Namespace {inside}</p>
      </header>
      <section class="card" aria-label="What may I do here">
        <h2>What may I do here?</h2>
        <TroubleNotice trouble={trouble} />
        {review === undefined && trouble === undefined ? <Quiet>Asking…</Quiet> : null}
        {review !== undefined && rules.length === 0 ? <Quiet>Nothing.</Quiet> : null}
        {review?.status?.incomplete === true ? <Quiet>The server knows only a part of it.</Quiet> : null}
        <ScrollBox label="Rights">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Verbs</th>
                <th scope="col">Resources</th>
                <th scope="col">Groups</th>
                <th scope="col">Names</th>
              </tr>
            </thead>
            <tbody>
              {rules.map((rule) => (
                <tr key={JSON.stringify(rule)}>
                  <td>{(rule.verbs ?? []).join(', ')}</td>
                  <td class="wrap">{(rule.resources ?? []).join(', ')}</td>
                  <td class="wrap">{(rule.apiGroups ?? []).map((each) => (each === '' ? 'core' : each)).join(', ')}</td>
                  <td class="wrap">{(rule.resourceNames ?? []).join(', ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollBox>
      </section>
      <WhoCan namespace={inside} />
    </div>
  );
}
