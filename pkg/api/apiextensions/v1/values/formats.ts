/**
 * Formats that schemas can require. Sources: 1.24, apiextensions-apiserver's list of supported formats;
 * k8s.io/kube-openapi, pkg/validation/strfmt, for their rules.
 *  Every check takes time linear in the length of the text.
 */
import { parseFormatDuration } from '#api/apiextensions/v1/expressions/formats.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { strictFamily } from '#apimachinery/net/parse-ip.js';

type Check = (text: string) => boolean;

/** The check of a format; undefined for formats that are only documentation. Ignores dashes in names. */
export function formatCheck(format: string): Check | undefined {
  const name = format.replaceAll('-', '');
  return Object.hasOwn(checks, name) ? checks[name] : undefined;
}

const matches =
  (pattern: RegExp): Check =>
  (text) =>
    pattern.test(text);

const isbn10 = (text: string): boolean => {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  return sumOf(digits, (digit, i) => (i + 1) * digit) % 11 === 0;
};

const isbn13 = (text: string): boolean => {
  const digits = text.replace(/[\s-]+/g, '');
  return /^[0-9]{13}$/.test(digits) && sumOf(digits, (digit, i) => (i % 2 === 0 ? 1 : 3) * digit) % 10 === 0;
};

const byteOf = '(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])';

const checks: Readonly<Record<string, Check>> = {
  bsonobjectid: matches(/^[0-9a-f]{24}$/i),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  cidr: isCidr,
  creditcard: isCreditCard,
  date: isDate,
  datetime: isDateTime,
  duration: (text) => parseFormatDuration(text) !== undefined,
  email: isEmail,
  hexcolor: matches(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i),
  hostname: isHostname,
  ipv4: (text) => ipFamily(text) !== 0 && text.includes('.'),
  ipv6: (text) => strictFamily(text) !== 0 && text.includes(':'),
  isbn: (text) => isbn10(text) || isbn13(text),
  isbn10,
  isbn13,
  mac: isMac,
  password: () => true,
  rgbcolor: matches(new RegExp(`^rgb\\(\\s*${byteOf}\\s*,\\s*${byteOf}\\s*,\\s*${byteOf}\\s*\\)$`)),
  ssn: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  uri: isUri,
  uuid: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid3: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i),
  uuid4: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
  uuid5: matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i),
};

/** The weighted sum of digits; the last may be an X. */
function sumOf(digits: string, weighted: (digit: number, position: number) => number): number {
  return [...digits].reduce((sum, digit, i) => sum + weighted(digit === 'X' ? 10 : Number(digit), i), 0);
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t');
  if (time === undefined || !isDate(date)) return false;
  const match = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time);
  const [hours = '', minutes = '', seconds = ''] = match?.slice(1) ?? [];
  return match !== null && hours <= '23' && minutes <= '59' && seconds <= '59';
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const family = slash < 0 ? 0 : ipFamily(text.slice(0, slash));
  const length = text.slice(slash + 1);
  return family !== 0 && /^\d+$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
}

/** Six, eight or twenty bytes, in pairs of digits or dotted groups of four. */
function isMac(text: string): boolean {
  const pairs = /^[0-9a-f]{2}(?:(:[0-9a-f]{2})+|(-[0-9a-f]{2})+)$/i.test(text) ? (text.length + 1) / 3 : 0;
  const fours = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i.test(text) ? ((text.length + 1) / 5) * 2 : 0;
  return [6, 8, 20].includes(pairs + fours);
}

const cardNumber =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$/;

/** A known issuer with a valid check digit. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  if (!cardNumber.test(digits)) return false;
  const sum = sumOf(digits, (digit, i) => {
    const doubled = (digits.length - i) % 2 === 0 ? 2 * digit : digit;
    return doubled > 9 ? doubled - 9 : doubled;
  });
  return sum % 10 === 0;
}

const maxHostname = 255;
const maxLabel = 63;
const onlyLabel = /^[a-z0-9\p{S}\p{L}](?:-?[a-z0-9\p{S}\p{L}]{0,62})?$/iu;
const label = /^[a-z0-9\p{S}\p{L}](?:[a-z0-9\p{S}\p{L}-]{0,61}[a-z0-9\p{S}\p{L}])?$/iu;
const lastLabel = /^[a-z0-9\p{S}\p{L}](?:-?[a-z0-9\p{S}\p{L}]){1,62}$/iu;

/** Like 1.24, a name without dot may have a dash only after its first letter. */
function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > maxHostname) return false;
  const labels = text.split('.');
  if (labels.some((part) => Buffer.byteLength(part) > maxLabel)) return false;
  const last = labels.pop() ?? '';
  if (labels.length === 0) return onlyLabel.test(last);
  return labels.every((part) => label.test(part)) && lastLabel.test(last);
}

const atom = "[a-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\u{10ffff}-]+";
const dotAtom = `${atom}(?:\\.${atom})*`;
const quoted = '"(?:[^"\\\\\\u0000-\\u001f\\u007f]|\\\\[^\\u0000-\\u001f\\u007f])*"';
const address = new RegExp(`^(?:${dotAtom}|${quoted})@${dotAtom}$`, 'iu');
const word = new RegExp(`^(?:${dotAtom}|${quoted})`, 'iu');

/** An RFC 5322 address, alone or after a name: `A B <a@example.com>`. */
function isEmail(text: string): boolean {
  const bare = text.trim();
  if (!bare.endsWith('>')) return address.test(bare);
  const open = bare.lastIndexOf('<');
  return open >= 0 && areWords(bare.slice(0, open).trim()) && address.test(bare.slice(open + 1, -1).trim());
}

function areWords(text: string): boolean {
  let rest = text;
  while (rest !== '') {
    const match = word.exec(rest)?.[0];
    if (match === undefined) return false;
    rest = rest.slice(match.length).trimStart();
  }
  return true;
}

/** A request URI in Go: with a scheme, or an absolute path. */
function isUri(text: string): boolean {
  if (text === '' || /[\u0000-\u001f\u007f]/.test(text) || text.startsWith(':')) return false;
  if (text === '*') return true;
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length);
  if (!rest.startsWith('/')) return scheme !== '';
  const [beforeQuery = ''] = rest.split('?', 1);
  if ((scheme === '' && rest.startsWith('///')) || !rest.startsWith('//')) return isEscaped(beforeQuery);
  const end = beforeQuery.indexOf('/', 2);
  const authority = beforeQuery.slice(2, end < 0 ? undefined : end);
  return isAuthority(authority) && isEscaped(end < 0 ? '' : beforeQuery.slice(end));
}

const isEscaped = (text: string): boolean => !/%(?![0-9a-f]{2})/i.test(text);

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at >= 0 && !(/^[\w.~!$&'()*+,;=:%@-]*$/.test(text.slice(0, at)) && isEscaped(text.slice(0, at)))) return false;
  const host = text.slice(at + 1);
  const port = host.startsWith('[') ? host.slice(host.lastIndexOf(']') + 1) : host.slice(portStart(host));
  if (host.startsWith('[') && !host.includes(']')) return false;
  if (!/^(?::\d*)?$/.test(port)) return false;
  // Escapes in host names stand for characters beyond ASCII.
  return /^(?:[\w.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}-]|%(?:25|[89a-f][0-9a-f]))*$/iu.test(host);
}

function portStart(host: string): number {
  const colon = host.lastIndexOf(':');
  return colon < 0 ? host.length : colon;
}
