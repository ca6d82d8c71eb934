import { useEffect, useRef, useState } from 'preact/hooks';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { openTerminal } from '#dashboard/client/pages/object/terminal.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet } from '#dashboard/client/parts/notice.js';
import { withQuery } from '#dashboard/live/requests.js';
import { collectionPath } from '#dashboard/model/catalog.js';
import { isPod } from '#dashboard/model/pods.js';

/** Bash where the image has it. */
const command = ['sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash || exec sh'];

/** A shell in a container of the pod. */
export function ShellTab({ kind, object }: TabProps) {
  const containers = isPod(object, kind) ? object.spec.containers.map(({ name }) => name) : [];
  const [container, setContainer] = useState(containers[0] ?? '');
  const [run, setRun] = useState(0);
  const [end, setEnd] = useState<string | undefined>(undefined);
  const { namespace, name = '' } = object.metadata;
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}/exec`;
  return (
    <section class="card" aria-label="Shell">
      <div class="actions">
        {containers.length > 1 ? (
          <select
            aria-label="Container"
            value={container}
            onChange={({ currentTarget }) => setContainer(currentTarget.value)}
          >
            {containers.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        ) : null}
        {end === undefined ? null : (
          <button
            type="button"
            class="primary"
            onClick={() => {
              setEnd(undefined);
              setRun(run + 1);
            }}
          >
            Start again
          </button>
        )}
        <Quiet>{end ?? 'Tab leaves the terminal after Ctrl-Shift-Escape.'}</Quiet>
      </div>
      <Screen key={`${container} ${run}`} path={path} container={container} onEnd={setEnd} />
    </section>
  );
}

interface ScreenProps {
  readonly path: string;
  readonly container: string;
  readonly onEnd: (text: string) => void;
}

function Screen({ path, container, onEnd }: ScreenProps) {
  const { requests, dialect } = useApp();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const streams = { container, stdin: 'true', stdout: 'true', tty: 'true' };
    const url = `${withQuery(path, streams)}${command.map((word) => `&command=${encodeURIComponent(word)}`).join('')}`;
    // Existing servers know the protocols under this name in both dialects.
    const protocol = 'v4.channel.k8s.io';
    const socket = requests.socket(url, [protocol], `base64url.bearer.authorization.${dialect.apiDomain}.`);
    return openTerminal(element, socket, onEnd);
  }, [path, container]);
  return <div class="terminal" ref={box} />;
}
