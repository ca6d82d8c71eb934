/** A quantity as 1.24 has it in memory (apimachinery/pkg/api/resource/quantity.go, ParseQuantity), in the text of spew. Pure. */

import { quoted } from '#apimachinery/errors/shown.js';
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
/** Factors of ten that surely fit into 64 bits. */
const maxFactors = 18;
const maxInt64 = 2n ** 63n - 1n;
const wordBits = 64n;
/** Places that an amount without a bound is rounded to. */
const nanoScale = 9;

interface Held {
  /** Absent: a number of any size. */
  readonly amount: Amount | undefined;
  /** Of a number of any size, in billionths. */
  readonly nanos: bigint;
  /** The text, where it is kept. */
  readonly kept: string;
  readonly format: string;
}

/** The dump of a canonical quantity; absent: of one that was never set. */
export function goQuantity(text: string | undefined): string {
  const { amount, nanos, kept, format } = held(text);
  return amount === undefined ? dumpOfLarge(nanos, format) : dump(amount, { kept, format });
}

/** The same in Go's syntax. */
export function quantitySyntax(text: string | undefined): string {
  const { amount, nanos, kept, format } = held(text);
  const { value, scale } = amount ?? { value: 0n, scale: 0 };
  const number = `resource.int64Amount{value:${value}, scale:${scale}}`;
  // 1.24 shows where in its memory a number of any size is, which is another place each time.
  const large = amount === undefined ? `(*inf.Dec)(${nanos}e-${nanoScale})` : '(*inf.Dec)(nil)';
  return `resource.Quantity{i:${number}, d:resource.infDecAmount{Dec:${large}}, s:${quoted(kept)}, Format:${quoted(format)}}`;
}

function held(text: string | undefined): Held {
  const zero = { amount: { value: 0n, scale: 0 }, nanos: 0n };
  if (text === undefined) return { ...zero, kept: '', format: '' };
  if (text === '0') return { ...zero, kept: text, format: 'DecimalSI' };
  const { format, nanos } = parseQuantity(text);
  const small = smallAmount(text);
  return { amount: small?.amount, nanos, kept: small?.isCanonical === true ? text : '', format };
}

/** Undefined where 1.24 takes to numbers of any size. `isCanonical`: it keeps the text, too. */
function smallAmount(text: string): { readonly amount: Amount; readonly isCanonical: boolean } | undefined {
  const [, sign, digits = '', suffix = '', exponent = ''] = shape.exec(text) ?? [];
  if (digits === '') return undefined;
  const size = BigInt(digits);
  const signed = (value: bigint) => (sign === '-' ? -value : value);
  const binary = binaryExponents[suffix];
  if (binary !== undefined) {
    // A power of two has about three digits for each ten.
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
