import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { DataTable, type Window } from '#dashboard/client/parts/data-table.js';
import { LiveMark, PartialMark, Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { browserClock } from '#dashboard/client/platform/browser-clock.js';
import { collectionPath, type Kind } from '#dashboard/model/catalog.js';
import type { TableSpec } from '#dashboard/model/messages.js';
import type { Sorting } from '#dashboard/model/order.js';
import { kindLink, objectLink, parsePlace } from '#dashboard/model/places.js';
import type { Column } from '#dashboard/model/table.js';
import { pluralOf } from '#dashboard/model/words.js';

/** All objects of a kind, as the server's own table. */
export function KindPage({ kind }: { readonly kind: Kind }) {
  const { place, namespace, go } = useApp();
  const { filter = '', sort = '', columns: chosen } = place.query;
  const [window, setWindow] = useState<Window>({ first: 0, count: 100 });
  const sorting = sortingOf(sort);
  const inside = kind.namespaced ? namespace : undefined;
  const spec: TableSpec = {
    type: 'table',
    path: collectionPath(kind, inside),
    isUnwatched: !kind.verbs.includes('watch'),
    ...{ filter, sorting, ...window },
  };
  const state = useLive<'table'>(spec);
  // Changes may follow each other before the page is drawn anew.
  const change = useCallback(
    (changed: Record<string, string | undefined>) => {
      const { query } = parsePlace(location.pathname, location.search);
      go(kindLink(kind, { ...query, ...changed }), { replace: true });
    },
    [kind, go],
  );
  const columns = state?.columns ?? [];
  const shown = shownColumns(columns, chosen);
  const onSort = (column: string) => {
    const descending = sorting?.column === column && !sorting.descending;
    change({ sort: `${descending ? '-' : ''}${column}` });
  };
  const onWindow = useCallback((next: Window) => {
    setWindow((held) => (held.first === next.first && held.count === next.count ? held : next));
  }, []);
  return (
    <div class="page fill">
      <header class="page-head">
        <h1>{pluralOf(kind)}</h1>
        <p class="count" role="status">
          {state === undefined ? '' : countText(state.matching, state.total)} <LiveMark liveness={state?.liveness} />{' '}
          <PartialMark isPartial={state?.isPartial} />
        </p>
        <FilterBox value={filter} onChange={(text) => change({ filter: text })} />
        <ColumnChoice columns={columns} shown={shown} onChange={(names) => change({ columns: names })} />
      </header>
      <TroubleNotice trouble={state?.trouble} />
      {state !== undefined && state.liveness === 'live' && state.matching === 0 ? (
        <Quiet>
          {state.total > 0
            ? 'None matches the filter.'
            : state.isPartial
              ? 'There are none that you may see.'
              : 'There are none.'}
        </Quiet>
      ) : null}
      <DataTable
        {...{ state, shown, sorting, onSort, onWindow }}
        label={pluralOf(kind)}
        hasNamespaces={kind.namespaced && inside === undefined}
        linkOf={(row) => objectLink(kind, row.namespace, row.name)}
        onOpen={(row) => go(objectLink(kind, row.namespace, row.name))}
      />
    </div>
  );
}

function countText(matching: number, total: number): string {
  const all = total.toLocaleString('en');
  return matching === total ? all : `${matching.toLocaleString('en')} of ${all}`;
}

function sortingOf(text: string): Sorting | undefined {
  if (text === '') return undefined;
  return text.startsWith('-') ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

/** Those of the address, else those of priority 0. */
function shownColumns(columns: readonly Column[], chosen: string | undefined): number[] {
  const names = chosen?.split(',');
  return columns.flatMap(({ name, priority }, index) => {
    const isShown = index === 0 || (names === undefined ? priority === 0 : names.includes(name));
    return isShown ? [index] : [];
  });
}

/** A pause in typing of this length changes the address. */
const typingMs = 120;

function FilterBox({ value, onChange }: { readonly value: string; readonly onChange: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  // While the user types, the text is the user's.
  useEffect(() => {
    if (document.activeElement !== input.current) setText(value);
  }, [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = browserClock.setTimer(() => onChange(text), typingMs);
    return () => timer.cancel();
  }, [text]);
  return (
    <input
      ref={input}
      class="filter"
      type="search"
      data-shortcut="/"
      aria-label="Filter rows"
      placeholder="Filter:  web  -test  status:Running  app=shop   ( / )"
      value={text}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}

interface ColumnChoiceProps {
  readonly columns: readonly Column[];
  readonly shown: readonly number[];
  readonly onChange: (names: string | undefined) => void;
}

function ColumnChoice({ columns, shown, onChange }: ColumnChoiceProps) {
  if (columns.length < 2) return null;
  const toggle = (index: number) => {
    const next = shown.includes(index) ? shown.filter((each) => each !== index) : [...shown, index];
    onChange(next.map((each) => columns[each]?.name ?? '').join(','));
  };
  return (
    <details class="menu">
      <summary>Columns</summary>
      <fieldset>
        <legend class="hidden">Columns</legend>
        {columns.map(({ name, description }, index) =>
          index === 0 ? null : (
            <label key={name} title={description}>
              <input type="checkbox" checked={shown.includes(index)} onChange={() => toggle(index)} /> {name}
            </label>
          ),
        )}
        <button type="button" onClick={() => onChange(undefined)}>
          As the server chooses
        </button>
      </fieldset>
    </details>
  );
}
