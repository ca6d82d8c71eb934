import { useEffect, useState } from 'preact/hooks';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { isPod } from '#dashboard/model/pods.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

interface Forwarded {
  readonly id: number;
  readonly namespace: string;
  readonly pod: string;
  readonly remote: number;
  readonly local: number;
  readonly failure?: string;
}

/** Ports of this machine that lead to ports of the pod. */
export function PortsTab({ kind, object }: TabProps) {
  const { session, requests } = useApp();
  const [forwards, setForwards] = useState<readonly Forwarded[]>([]);
  const [port, setPort] = useState('');
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const { name = '', namespace = '' } = object.metadata;
  const canForward = session.info.forwards === true;
  const change = async (method: string, path: string) => {
    setTrouble(undefined);
    try {
      if (method !== 'GET') await requests.send(method, path);
      setForwards((await requests.json<{ readonly items: readonly Forwarded[] }>('/ui/forwards')).items);
    } catch (error) {
      setTrouble(troubleFrom(error));
    }
  };
  useEffect(() => {
    if (canForward) void change('GET', '');
  }, [canForward]);
  if (!isPod(object, kind)) return null;
  const declared = object.spec.containers.flatMap(({ ports = [] }) => ports);
  const own = forwards.filter((each) => each.pod === name && each.namespace === namespace);
  const start = (remote: number) =>
    change('POST', `/ui/forwards/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/${remote}`);
  if (!canForward)
    return (
      <section class="card" aria-label="Ports">
        <h2>Ports</h2>
        <p>
          A page of the API server cannot open ports of your machine. <code>orchctl ui</code> can, and so does:
        </p>
        <pre class="code">
          orchctl port-forward -n {namespace} {name}{' '}
          {declared.map(({ containerPort }) => `:${containerPort}`).join(' ') || ':PORT'}
        </pre>
      </section>
    );
  return (
    <section class="card" aria-label="Ports">
      <h2>Ports</h2>
      <TroubleNotice trouble={trouble} />
      <div class="actions">
        {declared.map(({ name: title, containerPort }) => (
          <button type="button" key={containerPort} onClick={() => void start(containerPort)}>
            Forward {containerPort}
            {title === undefined ? '' : ` (${title})`}
          </button>
        ))}
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault();
            void start(Number(port));
          }}
        >
          <input
            type="number"
            min="1"
            max="65535"
            required
            aria-label="Another port"
            placeholder="Another port"
            value={port}
            onInput={({ currentTarget }) => setPort(currentTarget.value)}
          />
          <button type="submit">Forward</button>
        </form>
      </div>
      {own.length === 0 ? <Quiet>No port is forwarded.</Quiet> : null}
      <ul aria-label="Forwarded ports">
        {own.map(({ id, local, remote, failure }) => (
          <li key={id} class="actions">
            <a href={`http://127.0.0.1:${local}/`} target="_blank" rel="noopener noreferrer">
              127.0.0.1:{local}
            </a>
            leads to port {remote}
            {failure === undefined ? null : <span class="status bad">{failure}</span>}
            <button type="button" onClick={() => void change('DELETE', `/ui/forwards/${id}`)}>
              End
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
