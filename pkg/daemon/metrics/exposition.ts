/** Prometheus text format for series that are computed at each scrape and carry the time of their measurement. */

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds since the epoch; absent: the time of the scrape. */
  readonly timestampMs?: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

/** Omits families without samples. */
export function expositionText(families: readonly Family[]): string {
  const parts: string[] = [];
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    parts.push(`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`);
    for (const { labels = {}, value, timestampMs } of samples) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
      const time = timestampMs === undefined ? '' : ` ${Math.round(timestampMs)}`;
      parts.push(`${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}${time}\n`);
    }
  }
  return parts.join('');
}

function escapeLabel(text: string): string {
  return /["\\\n]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : text;
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';
