/** What a dashboard is made of; `grafana.ts` makes of it what Grafana reads. */

export interface Dashboard {
  /** Also its file's name. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables?: readonly Variable[];
  readonly rows: readonly Row[];
}

/** What may be chosen at the top, any number of values: `instance=~"$instance"` in queries. */
export interface Variable {
  readonly name: string;
  /** The series whose labels are the values, as queries are written. */
  readonly of: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly type: 'graph' | 'number' | 'table';
  readonly title: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
}

export interface Query {
  /** As `promql.ts` describes; `$__rate_interval` is the range of rates. */
  readonly expr: string;
  /** `{{label}}`, for what the line is called. */
  readonly legend: string;
}

/** Names of Grafana. */
export type Unit = 'short' | 'reqps' | 'ops' | 's' | 'bytes' | 'Bps' | 'percentunit' | 'cores' | 'dateTimeFromNow';

type Lines = Readonly<Record<string, string>>;

/** Lines over time: queries by their legends. */
export function graph(title: string, unit: Unit, lines: Lines): Panel {
  return { type: 'graph', title, unit, queries: queriesOf(lines) };
}

/** The newest value, large. */
export function number(title: string, unit: Unit, expr: string): Panel {
  return { type: 'number', title, unit, queries: [{ expr, legend: '' }] };
}

/** The newest value of each series, one a line. */
export function table(title: string, unit: Unit, expr: string): Panel {
  return { type: 'table', title, unit, queries: [{ expr, legend: '' }] };
}

function queriesOf(lines: Lines): Query[] {
  return Object.entries(lines).map(([legend, expr]) => ({ legend, expr }));
}

/** A percentile of a histogram by labels, such as `verb`; `of`: selectors within the braces. */
export function quantile(
  share: number,
  histogram: string,
  { by = [], of = '' }: { by?: readonly string[]; of?: string } = {},
) {
  return `histogram_quantile(${share}, sum by (${[...by, 'le'].join(', ')}) (rate(${histogram}_bucket{${of}}[$__rate_interval])))`;
}

/** What a counter grows by in a second, by labels. */
export function rate(counter: string, { by = [], of = '' }: { by?: readonly string[]; of?: string } = {}) {
  return `sum${by.length === 0 ? '' : ` by (${by.join(', ')})`} (rate(${counter}{${of}}[$__rate_interval]))`;
}
