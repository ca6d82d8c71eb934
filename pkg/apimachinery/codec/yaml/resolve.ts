/** Resolves YAML scalars like go-yaml 2.4 in release 1.24. Dates and scalars with custom tags stay texts. */
import type { ScalarNode } from '#apimachinery/codec/yaml/nodes.js';
import { YamlError } from '#apimachinery/codec/yaml/yaml-error.js';
import { isInt64, isUint64 } from '#apimachinery/int64.js';

/** The forms of timestamps in go-yaml 2.4. */
const time = String.raw`(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?`;
const zone = String.raw`(?:Z|[-+](\d{2}):(\d{2}))`;
const forms = [
  new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2})[Tt]${time}${zone}$`),
  new RegExp(`^(\\d{4})-(\\d{1,2})-(\\d{1,2}) +${time}$`),
  /^(\d{4})-(\d{1,2})-(\d{1,2})$/,
];

function isTimestamp(text: string): boolean {
  if (!/^\d{4}-/.test(text)) return false;
  return forms.some((form) => {
    const [, ...parts] = form.exec(text) ?? [];
    if (parts.length === 0) return false;
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = parts.map(
      (part) => Number(part ?? 0),
    );
    const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
    const isDay = month >= 1 && month <= 12 && day >= 1 && day <= days;
    return isDay && hour < 24 && minute < 60 && second < 60 && zoneHour <= 24 && zoneMinute < 60;
  });
}

/** Integers are bigints, doubles are numbers. */
export type Scalar = string | number | bigint | boolean | null;

const prefix = 'tag:yaml.org,2002:';
type Kind = 'str' | 'bool' | 'int' | 'float' | 'null' | 'timestamp';
const kinds: ReadonlySet<string> = new Set<Kind>(['str', 'bool', 'int', 'float', 'null', 'timestamp']);

interface Resolved {
  readonly kind: Kind;
  readonly value: Scalar;
}

function table(): ReadonlyMap<string, Resolved> {
  const words: readonly (readonly [Kind, Scalar, string])[] = [
    ['bool', true, 'y Y yes Yes YES true True TRUE on On ON'],
    ['bool', false, 'n N no No NO false False FALSE off Off OFF'],
    ['null', null, '~ null Null NULL'],
    ['float', Number.NaN, '.nan .NaN .NAN'],
    ['float', Number.POSITIVE_INFINITY, '.inf .Inf .INF +.inf +.Inf +.INF'],
    ['float', Number.NEGATIVE_INFINITY, '-.inf -.Inf -.INF'],
  ];
  const entries = words.flatMap(([kind, value, texts]) =>
    texts.split(' ').map((text) => [text, { kind, value }] as const),
  );
  return new Map([...entries, ['', { kind: 'null', value: null }]]);
}

const words = table();

/** Throws a YamlError if the text does not fit its tag. */
export function resolveScalar({ value, tag, implicit }: ScalarNode): Scalar {
  if (tag === '' && !implicit) return value;
  const name = tag.startsWith(prefix) ? tag.slice(prefix.length) : '';
  if (name === 'binary') return binary(value);
  if (tag !== '' && !kinds.has(name)) return value;
  const resolved = resolve(name, value);
  if (name === '' || name === 'str' || name === resolved.kind) return resolved.value;
  if (name === 'float' && typeof resolved.value === 'bigint' && isInt64(resolved.value)) return Number(resolved.value);
  throw new YamlError(`cannot decode !!${resolved.kind} \`${value}\` as a !!${name}`);
}

/** Whether the text remains a text when it is written without quotes. */
export function isPlainText(text: string): boolean {
  return text !== '<<' && resolve('', text).kind === 'str';
}

function resolve(tag: string, text: string): Resolved {
  const asText: Resolved = { kind: 'str', value: text };
  if (tag === 'str') return asText;
  const word = words.get(text);
  if (word !== undefined) return word;
  if (text.startsWith('.')) {
    const value = doubleOf(text);
    return value === undefined ? asText : { kind: 'float', value };
  }
  if (!/^[-+0-9]/.test(text)) return asText;
  if ((tag === '' || tag === 'timestamp') && isTimestamp(text)) return { kind: 'timestamp', value: text };
  const digits = text.replaceAll('_', '');
  const integer = integerOf(digits);
  if (integer !== undefined) return { kind: 'int', value: integer };
  const value = yamlDouble.test(digits) ? doubleOf(digits) : undefined;
  if (value !== undefined) return { kind: 'float', value };
  const signed = /^0b([-+][01]+)$/.exec(digits)?.[1];
  const odd = signed === undefined ? undefined : inRange(signed.startsWith('-'), `0b${signed.slice(1)}`, false);
  return odd === undefined ? asText : { kind: 'int', value: odd };
}

const yamlDouble = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const integerForms = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/;
/** Digits of the largest integer in any form. */
const maxIntegerDigits = 66;

/** A 64-bit integer; without a sign also an unsigned one. */
function integerOf(text: string): bigint | undefined {
  const form = integerForms.exec(text);
  const [, sign = '', all = ''] = form ?? [];
  if (form === null) return undefined;
  const digits = /^0[0-7]+$/.test(all) ? `0o${all.slice(1)}` : all;
  return inRange(sign === '-', digits, sign === '');
}

function inRange(isNegative: boolean, digits: string, unsigned: boolean): bigint | undefined {
  const significant = digits.replace(/^(0[xXbBoO])0+(?=.)/, '$1');
  if (significant.length > maxIntegerDigits) return undefined;
  const value = isNegative ? -BigInt(significant) : BigInt(significant);
  return isInt64(value) || (unsigned && isUint64(value)) ? value : undefined;
}

const decimal = /^[-+]?(?:[0-9](?:_?[0-9])*)?(?:\.(?:[0-9](?:_?[0-9])*)?)?(?:[eE][-+]?[0-9](?:_?[0-9])*)?$/;

/** A double in Go's syntax; undefined for other texts and out of range. */
function doubleOf(text: string): number | undefined {
  if (!decimal.test(text) || !/^[-+]?\.?[0-9]/.test(text)) return undefined;
  const value = Number(text.replaceAll('_', ''));
  return Number.isFinite(value) ? value : undefined;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function binary(text: string): string {
  const encoded = text.replaceAll(/[\r\n]/g, '');
  if (!base64.test(encoded)) throw new YamlError('!!binary value contains invalid base64 data');
  return decodeUtf8(Buffer.from(encoded, 'base64'));
}

/** Each invalid UTF-8 byte becomes U+FFFD, as in Go's JSON. */
function decodeUtf8(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfCharacter(bytes, at);
    text += size === 0 ? '\ufffd' : bytes.toString('utf8', at, at + size);
    at += Math.max(size, 1);
  }
  return text;
}

function sizeOfCharacter(bytes: Buffer, at: number): number {
  const first = bytes[at] as number;
  const size = first < 0x80 ? 1 : first >> 5 === 6 ? 2 : first >> 4 === 14 ? 3 : first >> 3 === 30 ? 4 : 0;
  if (size === 0 || at + size > bytes.length) return 0;
  const part = bytes.subarray(at, at + size);
  return Buffer.from(part.toString('utf8')).equals(part) ? size : 0;
}
