/** Canonical forms of metav1.Time and metav1.MicroTime: UTC, whole seconds / six decimals. */

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

const rfc3339 = /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$/;
const zeroTime = '0001-01-01T00:00:00';

/** The instant's whole seconds as `2006-01-02T15:04:05`, undefined for what is no time of the calendar. */
function utcSeconds(local: string, zone: string): string | undefined {
  const ms = Date.parse(`${local}Z`);
  // Days that a month does not have are silently carried over by Date.parse.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== local) return undefined;
  if (zone === 'Z') return local;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  if (Number(zone.slice(1, 3)) > 23 || Number(zone.slice(4, 6)) > 59) return undefined;
  const shifted = new Date(ms - (zone.startsWith('-') ? -minutes : minutes) * 60_000).toISOString();
  return shifted.length === 24 ? shifted.slice(0, 19) : undefined;
}

const canonicalForm =
  /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;

/** The canonical text of an RFC 3339 time; null for the zero time, undefined for what is no time. */
export function canonicalTime(text: string): string | null | undefined {
  // Nearly all times that are read were written by a server; the last days of a month take a calendar.
  if (canonicalForm.test(text) && !text.startsWith(zeroTime)) return text;
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const seconds = utcSeconds(match[1] ?? '', match[3] ?? '');
  if (seconds === undefined) return undefined;
  return seconds === zeroTime ? null : `${seconds}Z`;
}

/** Like `canonicalTime`; exactly six decimals are asked for, as release 1.24 does. */
export function canonicalMicroTime(text: string): string | null | undefined {
  const match = rfc3339.exec(text);
  const fraction = match?.[2] ?? '';
  if (match === null || fraction.length !== 7) return undefined;
  const seconds = utcSeconds(match[1] ?? '', match[3] ?? '');
  if (seconds === undefined) return undefined;
  return seconds === zeroTime && fraction === '.000000' ? null : `${seconds}${fraction}Z`;
}
