/** Formats a quantity like spew formats its struct in 1.24 (apimachinery/pkg/api/resource/quantity.go). Pure. */

import { quoted } from '#apimachinery/errors/message-values.js';
import { parseQuantity } from '#apimachinery/quantity.js';

interface Amount {
  readonly value: bigint;
  readonly scale: number;
}

const shape = /^([+-]?)0*(\d*)([A-Za-z]*)([-+]?\d*)$/;
const decimalScales: Readonly<Record<string, number>> = {
  ...{ n: -9, u: -6, m: -3, '': 0, k: 3 },
  ...{ M: 6, G: 9, T: 12, P: 15, E: 18 },
};
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
/** Powers of ten that always fit into 64 bits. */
const maxFactors = 18;
const maxInt64 = 2n ** 63n - 1n;
const wordBits = 64n;
/** Decimal places of arbitrary-precision amounts. */
const nanoScale = 9;

interface QuantityFields {
  /** Absent for an arbitrary-precision number. */
  readonly amount: Amount | undefined;
  /** Billionths, for an arbitrary-precision number. */
  readonly nanos: bigint;
  /** The cached text; empty if 1.24 does not cache it. */
  readonly kept: string;
  readonly format: string;
}

/** The dump of a canonical quantity; undefined stands for an unset one. */
export function goQuantity(text: string | undefined): string {
  const { amount, nanos, kept, format } = quantityFields(text);
  return amount === undefined ? dumpOfLarge(nanos, format) : dump(amount, { kept, format });
}

/** A canonical quantity in Go syntax (`%#v`). */
export function quantitySyntax(text: string | undefined): string {
  const { amount, nanos, kept, format } = quantityFields(text);
  const { value, scale } = amount ?? { value: 0n, scale: 0 };
  const number = `resource.int64Amount{value:${value}, scale:${scale}}`;
  // 1.24 prints the memory address of an arbitrary-precision number, which differs each time.
  const large = amount === undefined ? `(*inf.Dec)(${nanos}e-${nanoScale})` : '(*inf.Dec)(nil)';
  return `resource.Quantity{i:${number}, d:resource.infDecAmount{Dec:${large}}, s:${quoted(kept)}, Format:${quoted(format)}}`;
}

function quantityFields(text: string | undefined): QuantityFields {
  const zero = { amount: { value: 0n, scale: 0 }, nanos: 0n };
  if (text === undefined) return { ...zero, kept: '', format: '' };
  if (text === '0') return { ...zero, kept: text, format: 'DecimalSI' };
  const { format, nanos } = parseQuantity(text);
  const small = smallAmount(text);
  return { amount: small?.amount, nanos, kept: small?.isCanonical === true ? text : '', format };
}

/** Undefined where 1.24 uses arbitrary precision. `isCanonical`: it also caches the text. */
function smallAmount(text: string): { readonly amount: Amount; readonly isCanonical: boolean } | undefined {
  const [, sign, digits = '', suffix = '', exponent = ''] = shape.exec(text) ?? [];
  if (digits === '') return undefined;
  const size = BigInt(digits);
  const signed = (value: bigint) => (sign === '-' ? -value : value);
  const binary = binaryExponents[suffix];
  if (binary !== undefined) {
    // A power of two has about three digits per ten bits.
    if (15 - digits.length - Math.trunc((binary * 3) / 10) - 1 < 0) return undefined;
    const value = size << BigInt(binary);
    if (value > maxInt64) return undefined;
    return { amount: { value: signed(value), scale: 0 }, isCanonical: size % 8n !== 0n };
  }
  const scale = exponent === '' ? decimalScales[suffix] : Number(exponent);
  if (scale === undefined || digits.length > maxFactors || scale < -nanoScale) return undefined;
  return { amount: { value: signed(size), scale }, isCanonical: scale % 3 === 0 && !digits.endsWith('000') };
}

function dump({ value, scale }: Amount, { kept, format }: { readonly kept: string; readonly format: string }): string {
  const amount = `(resource.int64Amount){value:(int64)${value} scale:(resource.Scale)${scale}}`;
  return whole(amount, `(resource.infDecAmount){Dec:(*inf.Dec)<nil>}`, kept, format);
}

function dumpOfLarge(nanos: bigint, format: string): string {
  const size = nanos < 0n ? -nanos : nanos;
  const words: bigint[] = [];
  for (let rest = size; rest > 0n; rest >>= wordBits) words.push(BigInt.asUintN(64, rest));
  const unscaled = `(big.Int){neg:(bool)${nanos < 0n} abs:(big.nat)[${words.join(' ')}]}`;
  const amount = `(resource.infDecAmount){Dec:(*inf.Dec){unscaled:${unscaled} scale:(inf.Scale)${nanoScale}}}`;
  return whole(`(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0}`, amount, '', format);
}

function whole(small: string, large: string, kept: string, format: string): string {
  return `{i:${small} d:${large} s:(string)${kept} Format:(resource.Format)${format}}`;
}
