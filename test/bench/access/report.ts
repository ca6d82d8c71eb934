/** Rows of the comparison: each server's cost, its limit, and how reliable both are. */
import type { Costs, Rounds } from '#test/bench/access/rounds.js';
import type { Starvation } from '#test/bench/machine/starvation.js';
import { megabytes } from '#test/bench/report.js';

export interface RowLimits {
  /** Absolute limit. */
  readonly most?: number;
  /** Limit as a multiple of the bare server's cost; a limit against the peer takes precedence. */
  readonly bare?: number;
  /** Limit as a fraction of the peer's cost. */
  readonly peer?: number;
}

export interface RowFigures {
  readonly orch: number;
  readonly peer?: number | undefined;
  readonly bare?: number | undefined;
}

export type Unit = keyof typeof units;

/** Number format. */
const units = {
  /** CPU or wall time. */
  ms: (value: number) => {
    if (value < 0.1) return `${(value * 1000).toFixed(1)} µs`;
    return value >= 100 ? `${value.toFixed(0)} ms` : `${value.toPrecision(3)} ms`;
  },
  bytes: megabytes,
  cores: (value: number) => `${(value * 100).toFixed(2)} % of a core`,
  times: (value: number) => `${value.toFixed(2)}×`,
};

export interface Row {
  readonly name: string;
  readonly unit: Unit;
  readonly figures: RowFigures;
  /** Cost of each server's etcd. */
  readonly etcd?: RowFigures;
  readonly limits: RowLimits;
  /** Absent if starvation cannot change the figure. */
  readonly rounds?: Omit<Rounds<unknown>, 'values'>;
}

export interface Verdict {
  readonly against: 'limit' | 'bare' | 'peer';
  readonly figure: number;
  /** Absent for figures without a limit. */
  readonly limit?: number;
  /** Undefined without a verdict: no limit, or a starved machine. */
  readonly held?: boolean;
}

/** The verdicts of a row. */
export function verdicts({ figures, limits, rounds }: Row): Verdict[] {
  const { orch, bare, peer } = figures;
  const judged = (against: Verdict['against'], figure: number, limit: number | undefined): Verdict => ({
    against,
    figure,
    ...(limit !== undefined && { limit }),
    ...(limit !== undefined && rounds?.starved !== true && { held: figure <= limit }),
  });
  const all: Verdict[] = [];
  if (limits.most !== undefined) all.push(judged('limit', orch, limits.most));
  const byPeer = peer !== undefined && limits.peer !== undefined;
  if (bare !== undefined) all.push(judged('bare', orch / bare, byPeer ? undefined : limits.bare));
  if (peer !== undefined) all.push(judged('peer', orch / peer, limits.peer));
  return all;
}

function limitText({ limit, held }: Verdict, show: (value: number) => string): string {
  if (limit === undefined) return '';
  return ` (≤ ${show(limit)}${held === false ? ', MISSED' : ''})`;
}

const part = (value: number) => value.toFixed(value < 0.1 ? 3 : 2);

function verdictText(row: Row, verdict: Verdict): string {
  if (verdict.against === 'limit') return limitText(verdict, units[row.unit]).trim();
  const show = verdict.against === 'bare' ? units.times : part;
  return `${show(verdict.figure)}${limitText(verdict, show)}`;
}

/** `5 rounds discarded: other processes (3), slow cores (2)`; empty if there are none. */
export function discardedText(discarded: readonly Starvation[]): string {
  const counts = new Map<Starvation, number>();
  for (const reason of discarded) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (counts.size === 0) return '';
  const reasons = [...counts].map(([reason, count]) => `${reason} (${count})`).join(', ');
  return `${discarded.length} ${discarded.length === 1 ? 'round' : 'rounds'} discarded: ${reasons}`;
}

/** A lower pace is reported: such figures compare only within their row, not with other runs. */
const usualPace = 0.9;

function paceText(pace = 1): string {
  return pace < usualPace ? `cores at ${pace.toFixed(2)} of their pace` : '';
}

/** A line of text, and a second one for remarks about the rounds. */
export function rowText(row: Row): string {
  const { name, unit, figures, etcd, rounds } = row;
  const show = units[unit];
  const verdictTexts = new Map(verdicts(row).map((verdict) => [verdict.against, verdictText(row, verdict)]));
  const side = (what: keyof RowFigures, label: string, verdict: string | undefined) => {
    const figure = figures[what];
    if (figure === undefined) return '';
    const beside = etcd?.[what] === undefined ? '' : ` + etcd ${show(etcd[what])}`;
    return `${label}${show(figure)}${beside}${verdict === undefined ? '' : `  ${verdict}`}`;
  };
  const sides = [
    side('orch', '', verdictTexts.get('limit')),
    side('bare', 'bare ', verdictTexts.get('bare')),
    side('peer', 'peer ', verdictTexts.get('peer')),
  ];
  const discarded = discardedText(rounds?.discarded ?? []);
  const starved = rounds?.starved === true ? ['STARVED, not judged'] : [];
  const notes = [...starved, paceText(rounds?.pace), discarded].filter((text) => text !== '');
  const line = `${name.padEnd(50)} ${sides.filter((text) => text !== '').join('   ')}\n`;
  return notes.length === 0 ? line : `${line}${' '.repeat(51)}${notes.join('; ')}\n`;
}

/** The table for a document. */
export function rowsMarkdown(rows: readonly Row[]): string {
  const peers = rows.some(({ figures }) => figures.peer !== undefined);
  const heads = peers
    ? ['what', 'orch', 'peer', 'ratio', 'at most']
    : ['what', 'orch', 'bare server', 'ratio', 'at most'];
  heads.push(peers ? 'etcd: orch, peer' : 'etcd');
  const lines = rows.map((row) => {
    const { name, unit, figures, etcd, rounds } = row;
    const show = (value: number | undefined) => (value === undefined ? '–' : units[unit](value));
    const other = peers ? 'peer' : 'bare';
    const all = verdicts(row);
    const ratio = all.find(({ against }) => against === other);
    const limits = all.filter(
      ({ limit, against }) => limit !== undefined && (against === other || against === 'limit'),
    );
    const ratioText = (value: number) => (peers ? part(value) : units.times(value));
    const atMost = limits.map(({ limit = 0, against, held }) => {
      const text = against === 'limit' ? units[unit](limit) : ratioText(limit);
      return held === false ? `**${text}, missed**` : text;
    });
    const cells = [
      `${name.trim()}${rounds?.starved === true ? ' (starved, no verdict)' : ''}`,
      show(figures.orch),
      show(figures[other]),
      ratio === undefined ? '–' : ratioText(ratio.figure),
      atMost.length === 0 ? '–' : atMost.join(', '),
      etcd === undefined ? '–' : [etcd.orch, ...(peers ? [etcd.peer] : [])].map(show).join(', '),
    ];
    return `| ${cells.join(' | ')} |\n`;
  });
  return `| ${heads.join(' | ')} |\n|${'---|'.repeat(heads.length)}\n${lines.join('')}`;
}

/**
 * The verdicts by row as text: the ratio to the peer, or to the bare server without one, and whether the limit holds.
 * Omits rows without a limit.
 */
export function limitsTable(rows: readonly Row[]): string {
  const lines = rows.flatMap((row) => {
    const { name, unit, figures, rounds } = row;
    const show = (value: number | undefined) => (value === undefined ? '–' : units[unit](value));
    return verdicts(row).flatMap(({ against, figure, limit, held }) => {
      if (limit === undefined) return [];
      const ratio = against === 'peer' ? part : units.times;
      const beside = against === 'limit' ? '–' : ratio(figure);
      const atMost = against === 'limit' ? show(limit) : ratio(limit);
      const verdict = held === undefined ? 'starved' : held ? 'holds' : 'MISSES';
      const wandered = rounds?.discarded.length ?? 0;
      const other = against === 'limit' ? '–' : show(figures[against]);
      return [[name.trim(), show(figures.orch), other, beside, `≤ ${atMost}`, verdict, String(wandered)]];
    });
  });
  const all = [['what', 'orch', 'other', 'ratio', 'limit', 'verdict', 'discarded'], ...lines];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  return all
    .map((line) => line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))))
    .map((line) => `${line.join('  ').trimEnd()}\n`)
    .join('');
}

/** Costs of orch, the peer if present, and the bare server if it takes part, in this order. */
export function costFigures({ costs }: Pick<Costs, 'costs'>, peer: boolean): Required<Pick<Row, 'figures' | 'etcd'>> {
  const sides = (figure: 'server' | 'etcd'): RowFigures => ({
    orch: costs[0]?.[figure] ?? Number.NaN,
    peer: peer ? costs[1]?.[figure] : undefined,
    bare: costs[peer ? 2 : 1]?.[figure],
  });
  return { figures: sides('server'), etcd: sides('etcd') };
}

/** Prints and stores each row. */
export class Report {
  readonly rows: Row[] = [];
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(row: Row): void {
    this.rows.push(row);
    this.#write(rowText(row));
  }

  /** A separator between rows. */
  say(text: string): void {
    this.#write(`${text}\n`);
  }
}
