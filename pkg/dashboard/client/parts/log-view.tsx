import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { browserClock } from '#dashboard/client/platform/browser-clock.js';
import { withQuery } from '#dashboard/live/requests.js';
import { type LogLine, LogLines } from '#dashboard/model/log-lines.js';
import type { PodObject } from '#dashboard/model/pods.js';
import type { PodSelection } from '#dashboard/model/selectors.js';
import { RequestError, type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

/** Logs that are followed at once, lines that are held, and lines that are shown. */
const maxLogs = 40;
const maxLines = 20_000;
const maxShown = 1000;
const tailLines = '200';
const pauseMs = 100;
/** After an interruption. */
const againMs = 1000;
const colours = 8;

interface LogViewProps {
  readonly namespace: string;
  readonly selection: PodSelection;
}

/** The logs of all containers of many pods in one view, with search. */
export function LogView({ namespace, selection }: LogViewProps) {
  const [search, setSearch] = useState('');
  const [isPrevious, setPrevious] = useState(false);
  const [isFollowing, setFollowing] = useState(true);
  const [container, setContainer] = useState('');
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const state = useLive<'objects'>({ type: 'objects', sources: [{ path: place, ...selection }] });
  const list = state?.lists[0];
  const pods = (list?.items ?? []) as readonly PodObject[];
  const all = pods.flatMap(logsOf);
  const containers = [...new Set(all.map((log) => log.container))];
  const chosen = all.filter((log) => container === '' || log.container === container);
  const logs = chosen.slice(0, maxLogs);
  const { lines, trouble, version } = useLogs(place, logs, isPrevious);
  const shown = useMemo(() => lines.matching(search, maxShown), [lines, search, version]);
  const sources = [...new Set(logs.map(({ from }) => from))];
  return (
    <section class="card logs" aria-label="Logs">
      <div class="actions">
        <input
          type="search"
          class="filter"
          data-shortcut="/"
          aria-label="Search in logs"
          placeholder="Search ( / )"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        {containers.length > 1 ? (
          <select
            aria-label="Container"
            value={container}
            onChange={({ currentTarget }) => setContainer(currentTarget.value)}
          >
            <option value="">All containers</option>
            {containers.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        ) : null}
        <label>
          <input type="checkbox" checked={isPrevious} onChange={() => setPrevious(!isPrevious)} /> Previous run
        </label>
        <label>
          <input type="checkbox" checked={isFollowing} onChange={() => setFollowing(!isFollowing)} /> Follow
        </label>
        <span class="note" role="status">
          {shown.length.toLocaleString('en')} lines of {pods.length} pod{pods.length === 1 ? '' : 's'}
        </span>
      </div>
      <TroubleNotice trouble={list?.trouble ?? trouble} />
      {chosen.length > maxLogs ? (
        <Quiet>
          The first {maxLogs} logs of {chosen.length} are shown.
        </Quiet>
      ) : null}
      {list !== undefined && pods.length === 0 ? <Quiet>No pods.</Quiet> : null}
      <LogText
        lines={shown}
        sources={sources}
        search={search}
        isFollowing={isFollowing}
        hasSources={sources.length > 1}
      />
    </section>
  );
}

interface LogOf {
  readonly from: string;
  readonly pod: string;
  readonly container: string;
  /** Changes when the container has started again. */
  readonly run: string;
}

function logsOf({ metadata, spec, status }: PodObject): LogOf[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ name }) => {
    const of = statuses.find((each) => each.name === name);
    const hasRun = of?.state?.running ?? of?.state?.terminated ?? of?.lastState?.terminated;
    if (hasRun === undefined) return [];
    const pod = metadata.name ?? '';
    return [{ from: `${pod}/${name}`, pod, container: name, run: `${metadata.uid ?? ''} ${of?.restartCount ?? 0}` }];
  });
}

function useLogs(place: string, logs: readonly LogOf[], isPrevious: boolean) {
  const { requests } = useApp();
  const lines = useMemo(() => new LogLines(maxLines), [place, isPrevious]);
  const [version, setVersion] = useState(0);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const readers = useRef(new Map<string, AbortController>());
  const touch = useRef<() => void>(() => undefined);
  useEffect(() => {
    let timer: { cancel(): void } | undefined;
    touch.current = () => {
      timer ??= browserClock.setTimer(() => {
        timer = undefined;
        setVersion((held) => held + 1);
      }, pauseMs);
    };
    return () => {
      timer?.cancel();
      touch.current = () => undefined;
    };
  }, []);
  useEffect(
    () => () => {
      for (const reader of readers.current.values()) reader.abort();
      readers.current.clear();
    },
    [lines],
  );
  const followed = logs.map(({ from, run }) => `${from} ${run}`).join('\n');
  useEffect(() => {
    const keys = new Set(logs.map(({ from, run }) => `${from} ${run}`));
    for (const [key, reader] of readers.current) {
      if (keys.has(key)) continue;
      reader.abort();
      readers.current.delete(key);
    }
    for (const log of logs) {
      const key = `${log.from} ${log.run}`;
      if (readers.current.has(key)) continue;
      const reader = new AbortController();
      const isAgain = [...readers.current.keys()].some((held) => held.startsWith(`${log.from} `));
      readers.current.set(key, reader);
      const path = `${place}/${encodeURIComponent(log.pod)}/log`;
      const query = {
        ...{ container: log.container, timestamps: 'true', previous: isPrevious ? 'true' : undefined },
        follow: isPrevious ? undefined : 'true',
      };
      const read = async () => {
        let last = '';
        for (;;) {
          const since = last === '' ? { tailLines: isAgain ? undefined : tailLines } : { sinceTime: last };
          try {
            for await (const line of requests.lines(withQuery(path, { ...query, ...since }), {
              signal: reader.signal,
            })) {
              const time = line.slice(0, line.indexOf(' '));
              // After an interruption the last second is read again.
              if (line === '' || time <= last) continue;
              last = time;
              lines.add(log.from, line);
              touch.current();
            }
            return;
          } catch (error) {
            const isLost = !(error instanceof RequestError) || error.code === 0;
            if (!isLost || reader.signal.aborted) throw error;
          }
          await browserClock.sleep(againMs, reader.signal);
        }
      };
      read().catch((error: unknown) => {
        if (!reader.signal.aborted) setTrouble(troubleFrom(error));
      });
    }
  }, [followed, lines, requests, place]);
  return { lines, trouble, version };
}

interface LogTextProps {
  readonly lines: readonly LogLine[];
  readonly sources: readonly string[];
  readonly search: string;
  readonly isFollowing: boolean;
  readonly hasSources: boolean;
}

function LogText({ lines, sources, search, isFollowing, hasSources }: LogTextProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (isFollowing && element !== null) element.scrollTop = element.scrollHeight;
  });
  return (
    <div class="code log-text" ref={box} tabIndex={0} role="log" aria-label="Lines" aria-live="off">
      {lines.map(({ id, from, time, text }) => (
        <div key={id} class="line">
          <span class="time">{time.slice(11, 23)}</span>
          {hasSources ? <span class={`from c${Math.max(0, sources.indexOf(from)) % colours}`}>{from}</span> : null}
          <span class="text">
            <Marked text={text} search={search} />
          </span>
        </div>
      ))}
    </div>
  );
}

function Marked({ text, search }: { readonly text: string; readonly search: string }) {
  const at = search === '' ? -1 : text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return <>{text}</>;
  const end = at + search.length;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end)}
    </>
  );
}
