/**
 * Amounts of resources: `500m`, `1.5Gi`, `2e3`. In memory a quantity is its string; this file computes with such
 * strings exactly, by the rules of resource.Quantity in release 1.24 (apimachinery/pkg/api/resource/quantity.go).
 *  Every value is a whole number of billionths (`nanos`): finer values are rounded away from zero when parsed, so that
 *  a small request never becomes zero.
 */

/** The suffix family of a printed quantity. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface ParsedQuantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

/** The error for text that is not a quantity, with the message of 1.24. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const wrongNumber = 'unable to parse numeric part of quantity';
const wrongSuffix = "unable to parse quantity's suffix";

/** Longer texts are refused: they are never meaningful, and exact arithmetic on them is expensive. */
const maxLength = 256;
/** Largest accepted power of ten, for the same reason. */
const maxExponent = 255;

const nanosPerUnit = 1_000_000_000n;
const nanosPerMilli = 1_000_000n;
/** Binary quantities are capped at the maximum of a signed 64-bit integer. */
const maxBinaryNanos = (2n ** 63n - 1n) * nanosPerUnit;

const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binarySuffixes: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };
const decimalByExponent = new Map(Object.entries(decimalSuffixes).map(([suffix, exponent]) => [exponent, suffix]));
const binaryByPower = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

const shape = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*)([-+]?[0-9]*)$/;

function divideAwayFromZero(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  const rest = value % by;
  if (rest === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}

/** `digits × 10^exponent` as nanos. */
function scaleDecimal(digits: bigint, exponent: number): bigint {
  const shift = exponent + 9;
  return shift >= 0 ? digits * 10n ** BigInt(shift) : divideAwayFromZero(digits, 10n ** BigInt(-shift));
}

function parseExponent(letters: string, digits: string): number {
  if ((letters !== 'e' && letters !== 'E') || !/[0-9]/.test(digits)) throw new QuantityError(wrongSuffix);
  const exponent = Number(digits);
  if (!Number.isSafeInteger(exponent) || Math.abs(exponent) > maxExponent) throw new QuantityError(wrongSuffix);
  return exponent;
}

/** A parsed quantity with cached derived values. */
class CachedQuantity implements ParsedQuantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
  readonly sign: -1 | 0 | 1;
  readonly isWhole: boolean;
  #canonical: string | undefined;
  #rounded: string | undefined;

  constructor({ nanos, format }: ParsedQuantity) {
    this.nanos = nanos;
    this.format = format;
    this.sign = nanos < 0n ? -1 : nanos > 0n ? 1 : 0;
    this.isWhole = nanos % nanosPerUnit === 0n;
  }

  get canonical(): string {
    this.#canonical ??= formatQuantity(this);
    return this.#canonical;
  }

  /** Canonical, rounded to thousandths. */
  get rounded(): string {
    if (this.#rounded === undefined) {
      const nanos = divideAwayFromZero(this.nanos, nanosPerMilli) * nanosPerMilli;
      this.#rounded = formatQuantity({ nanos, format: this.format });
    }
    return this.#rounded;
  }
}

/** Cache of parsed quantities: objects repeat the same few amounts. Cleared when full. */
const parsed = new Map<string, CachedQuantity>();
const maxParsed = 1024;
/** Longer texts are rare and not cached. */
const maxKeptLength = 24;

/** The exact value of a quantity. Throws a QuantityError. */
export function parseQuantity(text: string): ParsedQuantity {
  return cachedQuantity(text);
}

function cachedQuantity(text: string): CachedQuantity {
  const cached = parsed.get(text);
  if (cached !== undefined) return cached;
  const quantity = new CachedQuantity(parse(text));
  if (text.length <= maxKeptLength) {
    if (parsed.size >= maxParsed) parsed.clear();
    parsed.set(text, quantity);
  }
  return quantity;
}

function parse(text: string): ParsedQuantity {
  const match = text.length <= maxLength ? shape.exec(text) : null;
  if (match === null) throw new QuantityError(wrongFormat);
  const [, sign, whole = '', fraction = '', letters = '', tail = ''] = match;
  if (whole === '' && fraction === '') throw new QuantityError(text === '' ? wrongFormat : wrongNumber);
  const digits = BigInt(whole + fraction);
  let format: QuantityFormat = 'DecimalSI';
  let nanos: bigint;
  const binaryPower = tail === '' ? binarySuffixes[letters] : undefined;
  if (binaryPower !== undefined) {
    const scaled = (digits << BigInt(10 * binaryPower)) * nanosPerUnit;
    nanos = divideAwayFromZero(scaled, 10n ** BigInt(fraction.length));
    // A fraction of one byte is more precise as a decimal than as a rounded binary amount.
    if (nanos === 0n || nanos >= nanosPerUnit) format = 'BinarySI';
    if (nanos > maxBinaryNanos) nanos = maxBinaryNanos;
  } else {
    let exponent = tail === '' ? decimalSuffixes[letters] : undefined;
    if (exponent === undefined) {
      exponent = parseExponent(letters, tail);
      format = 'DecimalExponent';
    }
    nanos = scaleDecimal(digits, exponent - fraction.length);
  }
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

/** True if `parseQuantity` accepts the text. */
export function isQuantity(text: string): boolean {
  if (parsed.has(text) || isCanonical(text)) return true;
  try {
    parseQuantity(text);
    return true;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

function formatDecimal(nanos: bigint, format: QuantityFormat): string {
  let number = nanos;
  let exponent = -9;
  // Uses the largest exponent divisible by three that leaves a whole number and has a suffix.
  while (number % 1000n === 0n && (format === 'DecimalExponent' || exponent < 18)) {
    number /= 1000n;
    exponent += 3;
  }
  if (format === 'DecimalExponent') return exponent === 0 ? `${number}` : `${number}e${exponent}`;
  return `${number}${decimalByExponent.get(exponent) ?? ''}`;
}

/** The canonical text: no fraction, the largest suffix that leaves a whole number. */
function formatQuantity(quantity: ParsedQuantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  const limit = 1024n * nanosPerUnit;
  const small = nanos > -limit && nanos < limit;
  if (format !== 'BinarySI') return formatDecimal(nanos, format);
  if (small || nanos % nanosPerUnit !== 0n) return formatDecimal(nanos, 'DecimalSI');
  let number = nanos / nanosPerUnit;
  let power = 0;
  while (power < 6 && number % 1024n === 0n) {
    number >>= 10n;
    power++;
  }
  return `${number}${binaryByPower[power]}`;
}

/** Parses common texts without BigInt: up to 15 digits and a suffix. Undefined for other texts. */
function parseCommon(text: string): { digits: number; suffix: string } | undefined {
  let digits = 0;
  let at = 0;
  for (; at < text.length && at < 15; at++) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) break;
    digits = digits * 10 + (code - 48);
  }
  if (at === 0 || text.length - at > 2) return undefined;
  const suffix = text.slice(at);
  if (!(suffix in decimalSuffixes) && !(suffix in binarySuffixes)) return undefined;
  return { digits, suffix };
}

/** True for common texts in canonical form; false only means unknown. */
function isCanonical(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first === 48) return text.length === 1;
  const parts = parseCommon(text);
  if (parts === undefined) return false;
  const power = binarySuffixes[parts.suffix];
  if (power === undefined) return parts.digits % 1000 !== 0;
  return parts.digits % 1024 !== 0 && parts.digits * 1024 ** power < 2 ** 63;
}

/** The canonical form: `1000m` → `1`, `1024Mi` → `1Gi`, `0.5` → `500m`. Throws a QuantityError. */
export function canonicalQuantity(text: string): string {
  const cached = parsed.get(text);
  if (cached !== undefined) return cached.canonical;
  return isCanonical(text) ? text : cachedQuantity(text).canonical;
}

/** The exact value of a common text, times `10^3` for `milli`; undefined for other texts. */
function fast(text: string, milli: boolean): number | undefined {
  const parts = parseCommon(text);
  if (parts === undefined) return undefined;
  const power = binarySuffixes[parts.suffix];
  let result: number;
  if (power !== undefined) {
    result = parts.digits * 1024 ** power * (milli ? 1000 : 1);
  } else {
    const exponent = (decimalSuffixes[parts.suffix] ?? 0) + (milli ? 3 : 0);
    result = exponent >= 0 ? parts.digits * 10 ** exponent : Math.ceil(parts.digits / 10 ** -exponent);
  }
  return Number.isSafeInteger(result) ? result : undefined;
}

/** Whole units, rounded away from zero; the nearest number beyond 2^53. Throws a QuantityError. */
export function value(text: string): number {
  return fast(text, false) ?? Number(divideAwayFromZero(parseQuantity(text).nanos, nanosPerUnit));
}

/** Thousandths, rounded away from zero: `1.5` → 1500. Throws a QuantityError. */
export function milliValue(text: string): number {
  return fast(text, true) ?? Number(divideAwayFromZero(parseQuantity(text).nanos, nanosPerMilli));
}

/** Negative, zero or positive if `a` is less than, equal to or more than `b`. Throws a QuantityError. */
export function compareQuantities(a: string, b: string): number {
  if (a === b) return 0;
  const left = parseQuantity(a).nanos;
  const right = parseQuantity(b).nanos;
  return left < right ? -1 : left > right ? 1 : 0;
}

/** -1, 0 or 1. Throws a QuantityError. */
export function quantitySign(text: string): number {
  return cachedQuantity(text).sign;
}

/** True without a fractional part. Throws a QuantityError. */
export function isWholeQuantity(text: string): boolean {
  return cachedQuantity(text).isWhole;
}

/** `a + b`, canonical, in the suffix family of `a` unless `a` is zero. Throws a QuantityError. */
export function addQuantities(a: string, b: string): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return formatQuantity({
    nanos: left.nanos + right.nanos,
    format: left.nanos === 0n ? right.format : left.format,
  });
}

/** `a - b`, canonical, in the suffix family of `a` unless `a` is zero. Throws a QuantityError. */
export function subtractQuantities(a: string, b: string): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return formatQuantity({
    nanos: left.nanos - right.nanos,
    format: left.nanos === 0n ? right.format : left.format,
  });
}

/** Adds many quantities, in the suffix family of the first nonzero one. */
export class QuantitySum {
  #nanos = 0n;
  #format: QuantityFormat = 'DecimalSI';

  /** Throws a QuantityError. */
  add(text: string): void {
    const { nanos, format } = parseQuantity(text);
    if (this.#nanos === 0n) this.#format = format;
    this.#nanos += nanos;
  }

  /** Canonical. */
  total(): string {
    return formatQuantity({ nanos: this.#nanos, format: this.#format });
  }
}

/** Rounds away from zero to whole units, in the same suffix family: `1500m` → `2`. Throws a QuantityError. */
export function roundUpToWhole(text: string): string {
  const { nanos, format } = parseQuantity(text);
  return formatQuantity({ nanos: divideAwayFromZero(nanos, nanosPerUnit) * nanosPerUnit, format });
}

/** The quantity of that many whole units: (1073741824, 'BinarySI') → `1Gi`. Throws a RangeError for a fraction. */
export function quantityFromValue(units: number | bigint, format: QuantityFormat = 'DecimalSI'): string {
  return formatQuantity({ nanos: BigInt(units) * nanosPerUnit, format });
}

/** The quantity of that many thousandths: 1500 → `1500m`, 2000 → `2`. Throws a RangeError for a fraction. */
export function quantityFromMilliValue(millis: number | bigint, format: QuantityFormat = 'DecimalSI'): string {
  return formatQuantity({ nanos: BigInt(millis) * nanosPerMilli, format });
}

/** Rounds away from zero to thousandths, the precision of resource lists: `1u` → `1m`. Throws a QuantityError. */
export function roundUpToMilli(text: string): string {
  return cachedQuantity(text).rounded;
}
