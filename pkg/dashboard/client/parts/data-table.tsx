/** A virtual list of a table's rows: the page holds those in view, the worker all others. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { StatusText } from '#dashboard/client/parts/status.js';
import { useNow } from '#dashboard/client/parts/use-now.js';
import { ageText } from '#dashboard/model/age.js';
import type { TableState } from '#dashboard/model/messages.js';
import type { Sorting } from '#dashboard/model/order.js';
import { type Column, isAge, type Row } from '#dashboard/model/table.js';

export interface Window {
  readonly first: number;
  readonly count: number;
}

interface DataTableProps {
  readonly label: string;
  readonly state: TableState | undefined;
  /** Indexes of the columns that are shown. */
  readonly shown: readonly number[];
  readonly hasNamespaces: boolean;
  readonly sorting: Sorting | undefined;
  readonly onSort: (column: string) => void;
  readonly onWindow: (window: Window) => void;
  readonly linkOf: (row: Row) => string;
  readonly onOpen: (row: Row) => void;
}

const narrowHeight = 32;
/** On phones a row has two lines. */
const tallHeight = 60;
/** Rows before and after those in view, for fast scrolling. */
const margin = 30;

export function DataTable(props: DataTableProps) {
  const { state, shown, hasNamespaces, label, sorting, onSort, onWindow, linkOf, onOpen } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [rowHeight, setRowHeight] = useState(narrowHeight);
  const [focused, setFocused] = useState(0);
  const now = useNow();
  const report = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const height = matchMedia('(max-width: 640px)').matches ? tallHeight : narrowHeight;
    setRowHeight(height);
    const first = Math.max(0, Math.floor(element.scrollTop / height) - margin);
    // In steps, so that few scroll events need new rows.
    const step = Math.floor(first / 10) * 10;
    onWindow({ first: step, count: Math.ceil(element.clientHeight / height) + 2 * margin + 10 });
  }, [onWindow]);
  useLayoutEffect(report, [report]);
  useEffect(() => {
    addEventListener('resize', report);
    return () => removeEventListener('resize', report);
  }, [report]);

  const columns = state?.columns ?? [];
  const matching = state?.matching ?? 0;
  const { columns: widths, width } = columnWidths(state, shown, hasNamespaces);
  useLayoutEffect(() => {
    scroller.current?.style.setProperty('--columns', widths);
    scroller.current?.style.setProperty('--width', width);
  }, [widths, width]);

  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, j: 1, k: -1 };
    const step = event.key === 'Home' ? -matching : event.key === 'End' ? matching : steps[event.key];
    if (step === undefined || matching === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = Math.min(matching - 1, Math.max(0, focused + step));
    setFocused(next);
    const element = scroller.current;
    if (element === null) return;
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + 2 * rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + 2 * rowHeight - element.clientHeight;
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`[data-place="${next}"] a`)?.focus());
  };

  return (
    <div
      class="table-scroll"
      ref={scroller}
      onScroll={report}
      onKeyDown={move}
      tabIndex={0}
      role="region"
      aria-label={`${label}, rows`}
    >
      <div class="table" role="table" aria-label={label} aria-rowcount={matching + 1}>
        <div role="rowgroup" class="head">
          <div role="row" class="tr" aria-rowindex={1}>
            {hasNamespaces ? <Head name="Namespace" description="" sorting={sorting} onSort={onSort} /> : null}
            {shown.map((index) => {
              const column = columns[index];
              if (column === undefined) return null;
              return <Head key={column.name} {...column} sorting={sorting} onSort={onSort} />;
            })}
          </div>
        </div>
        <Rows
          {...{ state, shown, hasNamespaces, rowHeight, matching, now, linkOf, onOpen }}
          focused={Math.min(focused, Math.max(0, matching - 1))}
          onFocus={setFocused}
        />
      </div>
    </div>
  );
}

interface HeadProps {
  readonly name: string;
  readonly description: string;
  readonly sorting: Sorting | undefined;
  readonly onSort: (column: string) => void;
}

function Head({ name, description, sorting, onSort }: HeadProps) {
  const isSorted = sorting?.column === name;
  const direction = isSorted ? (sorting.descending ? 'descending' : 'ascending') : 'none';
  return (
    <div role="columnheader" class="th" aria-sort={direction}>
      <button type="button" title={description} onClick={() => onSort(name)}>
        {name}
        <span aria-hidden="true">{isSorted ? (sorting.descending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </div>
  );
}

interface RowsProps extends Pick<DataTableProps, 'state' | 'shown' | 'hasNamespaces' | 'linkOf' | 'onOpen'> {
  readonly rowHeight: number;
  readonly matching: number;
  readonly now: number;
  readonly focused: number;
  readonly onFocus: (place: number) => void;
}

function Rows({ state, shown, hasNamespaces, rowHeight, matching, now, focused, onFocus, linkOf, onOpen }: RowsProps) {
  const body = useRef<HTMLDivElement>(null);
  const height = matching * rowHeight;
  useLayoutEffect(() => {
    body.current?.style.setProperty('height', `${height}px`);
  }, [height]);
  const { columns = [], rows = [], first = 0 } = state ?? {};
  return (
    <div role="rowgroup" class="body" ref={body}>
      {rows.map((row, i) => (
        <TableRow
          key={row.key}
          {...{ row, columns, shown, hasNamespaces, now, onFocus }}
          place={first + i}
          top={(first + i) * rowHeight}
          isFocused={first + i === focused}
          link={linkOf(row)}
          onOpen={onOpen}
        />
      ))}
    </div>
  );
}

interface TableRowProps {
  readonly row: Row;
  readonly columns: readonly Column[];
  readonly shown: readonly number[];
  readonly hasNamespaces: boolean;
  readonly now: number;
  readonly place: number;
  readonly top: number;
  readonly isFocused: boolean;
  readonly link: string;
  readonly onFocus: (place: number) => void;
  readonly onOpen: (row: Row) => void;
}

function TableRow(props: TableRowProps) {
  const { row, columns, shown, hasNamespaces, now, place, top, isFocused, link, onFocus, onOpen } = props;
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    element.current?.style.setProperty('transform', `translateY(${top}px)`);
  }, [top]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the row's link takes the keys
    <div
      role="row"
      class={`tr${row.isDeleted ? ' leaving' : ''}`}
      ref={element}
      aria-rowindex={place + 2}
      data-place={place}
      tabIndex={-1}
      onClick={({ target }) => {
        if (!(target instanceof Element && target.closest('a') !== null) && getSelection()?.isCollapsed !== false)
          onOpen(row);
      }}
      onFocusCapture={() => onFocus(place)}
    >
      {hasNamespaces ? (
        <div role="cell" class="td namespace">
          {row.namespace}
        </div>
      ) : null}
      {shown.map((index, i) => {
        const column = columns[index];
        if (column === undefined) return null;
        const text = cellText(column, row, index, now);
        return (
          <div
            role="cell"
            key={column.name}
            class={`td${i === 0 ? ' first' : ''}`}
            data-column={column.name}
            title={text}
          >
            {i === 0 ? (
              <a href={link} tabIndex={isFocused ? 0 : -1}>
                {text}
              </a>
            ) : (
              <StatusText text={text} />
            )}
          </div>
        );
      })}
    </div>
  );
}

function cellText(column: Column, row: Row, index: number, now: number): string {
  if (isAge(column) && !Number.isNaN(row.createdMs)) return ageText(now - row.createdMs);
  const cell = row.cells[index] ?? null;
  return cell === null ? '' : String(cell);
}

/** Wide enough for the rows in view, in steps, so that columns keep their places while rows change. */
function columnWidths(state: TableState | undefined, shown: readonly number[], hasNamespaces: boolean) {
  const { columns = [], rows = [] } = state ?? {};
  const step = (title: string, textOf: (row: Row) => string) => {
    const longest = rows.reduce((most, row) => Math.max(most, textOf(row).length), title.length + 2);
    return Math.min(44, Math.ceil((longest + 2) / 4) * 4);
  };
  const widths = shown.map((index) => step(columns[index]?.name ?? '', ({ cells }) => String(cells[index] ?? '')));
  if (hasNamespaces) widths.unshift(step('Namespace', ({ namespace }) => namespace));
  const name = hasNamespaces ? 1 : 0;
  return {
    columns: widths.map((width, i) => `minmax(${width}ch, ${i === name ? 2 : 1}fr)`).join(' '),
    width: `${widths.reduce((sum, width) => sum + width, 3)}ch`,
  };
}
