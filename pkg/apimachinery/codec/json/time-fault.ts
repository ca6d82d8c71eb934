/** Why a text is no time, in the words of Go's `time.Parse` for the layouts of RFC 3339. */

interface Element {
  /** As the layout has it. */
  readonly name: string;
  readonly pattern: RegExp;
  /** Greatest number; absent: any. */
  readonly most?: number;
  readonly least?: number;
  readonly unit?: string;
}

const literal = (name: string): Element => ({ name, pattern: new RegExp(`^${name}`) });
const twoDigits = /^\d\d/;

const start: readonly Element[] = [
  { name: '2006', pattern: /^\d{4}/ },
  literal('-'),
  { name: '01', pattern: twoDigits, least: 1, most: 12, unit: 'month' },
  literal('-'),
  // Days are looked at when the month is known.
  { name: '02', pattern: twoDigits },
  literal('T'),
  { name: '15', pattern: /^\d\d?/, most: 23, unit: 'hour' },
  literal(':'),
  { name: '04', pattern: twoDigits, most: 59, unit: 'minute' },
  literal(':'),
  { name: '05', pattern: twoDigits, most: 59, unit: 'second' },
];
const microseconds: Element = { name: '.000000', pattern: /^\.\d{6}/ };
/** Where a layout has no fraction, a time may have one of any length. */
const anyFraction = /^[.,]\d+/;
const zone: Element = { name: 'Z07:00', pattern: /^(?:Z|[+-]\d\d:\d\d)/ };

/** The fault of a text that does not parse; `layout` is one of RFC 3339, with microseconds or without a fraction. */
export function timeFault(text: string, layout: string): string {
  const shown = JSON.stringify(text);
  let rest = text;
  for (const element of layout.includes('.') ? [...start, microseconds, zone] : [...start, zone]) {
    if (element === zone && !layout.includes('.')) rest = rest.replace(anyFraction, '');
    const [found] = element.pattern.exec(rest) ?? [];
    if (found === undefined) {
      return `parsing time ${shown} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${element.name}"`;
    }
    const { most = Number.POSITIVE_INFINITY, least = 0, unit } = element;
    if (unit !== undefined && (Number(found) > most || Number(found) < least)) {
      return `parsing time ${shown}: ${unit} out of range`;
    }
    rest = rest.slice(found.length);
  }
  if (rest !== '') return `parsing time ${shown}: extra text: ${JSON.stringify(rest)}`;
  return `parsing time ${shown}: day out of range`;
}
