/** Parses as much of Prometheus's text format as tests need. */

export interface Family {
  type: string;
  help: string;
  /** Number of lines with a value. */
  series: number;
  /** Label names of all series, sorted, without `le` and `quantile`. */
  labels: string[];
}

export function exposition(text: string): ReadonlyMap<string, Family> {
  const families = new Map<string, Family>();
  const family = (name: string) => {
    const entry = families.get(name) ?? { type: '', help: '', series: 0, labels: [] };
    families.set(name, entry);
    return entry;
  };
  for (const line of text.split('\n')) {
    const [, word = '', name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (word === 'HELP') family(name).help = rest;
    else if (word === 'TYPE') family(name).type = rest;
    const [, series, pairs = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (series === undefined) continue;
    const base = series.replace(/_(bucket|sum|count)$/, '');
    const of = families.has(series) ? family(series) : family(base);
    of.series++;
    for (const [, label = ''] of pairs.matchAll(/(\w+)="/g)) {
      if (label !== 'le' && label !== 'quantile' && !of.labels.includes(label)) of.labels.push(label);
    }
    of.labels.sort();
  }
  return families;
}
