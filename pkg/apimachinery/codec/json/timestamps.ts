/** Canonical forms of metav1.Time and metav1.MicroTime: UTC, whole seconds / six decimals. */

interface Element {
  /** Its name in the layout. */
  readonly name: string;
  readonly pattern: RegExp;
  /** Maximum; absent: unlimited. */
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
  // Days are checked once the month is known.
  { name: '02', pattern: twoDigits },
  literal('T'),
  { name: '15', pattern: /^\d\d?/, most: 23, unit: 'hour' },
  literal(':'),
  { name: '04', pattern: twoDigits, most: 59, unit: 'minute' },
  literal(':'),
  { name: '05', pattern: twoDigits, most: 59, unit: 'second' },
];
const microseconds: Element = { name: '.000000', pattern: /^\.\d{6}/ };
/** A time may have a fraction of any length where the layout has none. */
const anyFraction = /^[.,]\d+/;
const zone: Element = { name: 'Z07:00', pattern: /^(?:Z|[+-]\d\d:\d\d)/ };

/** Go's error for text that does not parse; `layout` is RFC 3339, with microseconds or without fraction. */
export function timeFault(text: string, layout: string): string {
  const shown = JSON.stringify(text);
  let rest = text;
  for (const element of layout.includes('.') ? [...start, microseconds, zone] : [...start, zone]) {
    if (element === zone && !layout.includes('.')) rest = rest.replace(anyFraction, '');
    const [match] = element.pattern.exec(rest) ?? [];
    if (match === undefined) {
      return `parsing time ${shown} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${element.name}"`;
    }
    const { most = Number.POSITIVE_INFINITY, least = 0, unit } = element;
    if (unit !== undefined && (Number(match) > most || Number(match) < least)) {
      return `parsing time ${shown}: ${unit} out of range`;
    }
    rest = rest.slice(match.length);
  }
  if (rest !== '') return `parsing time ${shown}: extra text: ${JSON.stringify(rest)}`;
  return `parsing time ${shown}: day out of range`;
}

const rfc3339 = /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$/;
const zeroTime = '0001-01-01T00:00:00';

/** The instant's whole seconds as `2006-01-02T15:04:05`; undefined for an invalid date. */
function utcSeconds(local: string, zone: string): string | undefined {
  const ms = Date.parse(`${local}Z`);
  // Date.parse silently carries over days that a month does not have.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== local) return undefined;
  if (zone === 'Z') return local;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  if (Number(zone.slice(1, 3)) > 23 || Number(zone.slice(4, 6)) > 59) return undefined;
  const shifted = new Date(ms - (zone.startsWith('-') ? -minutes : minutes) * 60_000).toISOString();
  return shifted.length === 24 ? shifted.slice(0, 19) : undefined;
}

const canonicalForm =
  /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;

/** The canonical text of an RFC 3339 time; null for the zero time, undefined if invalid. */
export function canonicalTime(text: string): string | null | undefined {
  // Fast path for times written by servers; the last days of a month need the calendar.
  if (canonicalForm.test(text) && !text.startsWith(zeroTime)) return text;
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const seconds = utcSeconds(match[1] ?? '', match[3] ?? '');
  if (seconds === undefined) return undefined;
  return seconds === zeroTime ? null : `${seconds}Z`;
}

/** Like `canonicalTime`, but requires exactly six decimals, as release 1.24 does. */
export function canonicalMicroTime(text: string): string | null | undefined {
  const match = rfc3339.exec(text);
  const fraction = match?.[2] ?? '';
  if (match === null || fraction.length !== 7) return undefined;
  const seconds = utcSeconds(match[1] ?? '', match[3] ?? '');
  if (seconds === undefined) return undefined;
  return seconds === zeroTime && fraction === '.000000' ? null : `${seconds}${fraction}Z`;
}
