import { useApp } from '#dashboard/client/parts/app-context.js';
import { PartialMark, Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { useNow } from '#dashboard/client/parts/use-now.js';
import { useWhy } from '#dashboard/client/parts/why-panel.js';
import { ageText } from '#dashboard/model/age.js';
import type { Overview, WarningRow, WrongObject } from '#dashboard/model/overview.js';
import { kindLink, objectLink } from '#dashboard/model/places.js';
import { rootCauses } from '#insight/inquiry/finding.js';

/** The first answers are asked for at once, others when the object is opened. */
const maxInquiries = 12;
/** Pods that are listed with their workload. */
const maxPods = 3;

/** The cluster, what is wrong first. */
export function OverviewPage() {
  const { namespace } = useApp();
  const state = useLive<'overview'>({ type: 'overview', ...(namespace === undefined ? {} : { namespace }) });
  return (
    <div class="page">
      <header class="page-head">
        <h1>Overview</h1>
        <p class="count">
          {namespace === undefined ? 'All namespaces' : `Namespace ${namespace}`}{' '}
          <PartialMark isPartial={state?.counts.some(({ isPartial }) => isPartial)} />
        </p>
      </header>
      <Counts state={state} />
      <Wrong state={state} />
      <Warnings warnings={state?.warnings} />
    </div>
  );
}

function Counts({ state }: { readonly state: Overview | undefined }) {
  const { namespace } = useApp();
  const refused = state?.counts.find(({ trouble }) => trouble !== undefined)?.trouble;
  return (
    <>
      <ul class="tiles" aria-label="Objects">
        {state?.counts.map(({ kind, resource, base, total, wrong, isLoading, trouble }) => (
          <li key={kind} class={`tile ${trouble !== undefined ? 'idle' : wrong > 0 ? 'bad' : 'good'}`}>
            <a href={kindLink({ group: groupOfBase(base), resource }, { namespace })}>
              <span class="number">{trouble === undefined ? total.toLocaleString('en') : '–'}</span>
              <span class="what">{kind}s</span>
              <span class="note">{noteOf(wrong, isLoading, trouble !== undefined)}</span>
            </a>
          </li>
        ))}
      </ul>
      <TroubleNotice trouble={refused} />
    </>
  );
}

function noteOf(wrong: number, isLoading: boolean, isRefused: boolean): string {
  if (isRefused) return 'not visible';
  if (isLoading) return 'counting…';
  return wrong === 0 ? 'all well' : `${wrong.toLocaleString('en')} in trouble`;
}

function Wrong({ state }: { readonly state: Overview | undefined }) {
  return (
    <section class="card" aria-label="What is wrong">
      <h2>What is wrong</h2>
      {state === undefined ? <Quiet>Looking…</Quiet> : null}
      {state?.wrong.length === 0 ? (
        <Quiet>{state.counts.some(({ isLoading }) => isLoading) ? 'Looking…' : 'Nothing.'}</Quiet>
      ) : null}
      <ul class="wrong">
        {state?.wrong.map((object, i) => (
          <WrongItem
            key={`${object.kind} ${object.namespace}/${object.name}`}
            object={object}
            asks={i < maxInquiries}
          />
        ))}
      </ul>
      {state !== undefined && state.hidden > 0 ? <Quiet>And {state.hidden.toLocaleString('en')} more.</Quiet> : null}
    </section>
  );
}

function WrongItem({ object, asks }: { readonly object: WrongObject; readonly asks: boolean }) {
  const { kind, resource, base, namespace, name, text, more, pods } = object;
  const now = useNow();
  const place = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const path = `/${base}${place}/${resource}/${encodeURIComponent(name)}`;
  const request = { kind, path, name, ...(namespace === '' ? {} : { namespace }) };
  const result = useWhy(asks ? request : undefined, [text, ...pods.map((pod) => pod.text)].join(' '));
  const roots = result !== undefined && 'answer' in result ? rootCauses(result.answer.findings) : [];
  return (
    <li>
      <p>
        <span class="kind">{kind}</span>{' '}
        <a href={objectLink({ group: groupOfBase(base), resource }, namespace, name)}>
          {namespace === '' ? name : `${namespace}/${name}`}
        </a>{' '}
        <span class="status bad">{text}</span>
        {more > 0 ? <span class="note"> and {more} more of its owner</span> : null}
        <span class="note age">{ageText(now - object.createdMs)}</span>
      </p>
      {pods.slice(0, maxPods).map((pod) => (
        <p key={pod.name} class="of">
          <span class="kind">Pod</span>{' '}
          <a href={objectLink({ group: '', resource: 'pods' }, pod.namespace, pod.name)}>{pod.name}</a>{' '}
          <span class="status bad">{pod.text}</span>
          {pod.more > 0 ? <span class="note"> and {pod.more} more</span> : null}
        </p>
      ))}
      {roots.slice(0, 2).map(({ reason, summary }) => (
        <p key={`${reason} ${summary}`} class="cause">
          {summary}
        </p>
      ))}
    </li>
  );
}

function Warnings({ warnings }: { readonly warnings: readonly WarningRow[] | undefined }) {
  const now = useNow();
  if (warnings === undefined || warnings.length === 0) return null;
  return (
    <section class="card" aria-label="Recent warnings">
      <h2>Recent warnings</h2>
      <ul class="warnings">
        {warnings.map(({ namespace, object, reason, message, seenMs }) => (
          <li key={`${namespace} ${object} ${reason} ${message}`}>
            <span class="note age">{ageText(now - seenMs)}</span>
            <span class="reason">{reason}</span>
            <span class="what">
              {namespace === '' ? '' : `${namespace} `}
              {object}
            </span>
            <span class="message">{message}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** `apis/apps/v1` is of the group `apps`. */
function groupOfBase(base: string): string {
  const [root, group = ''] = base.split('/');
  return root === 'apis' ? group : '';
}
