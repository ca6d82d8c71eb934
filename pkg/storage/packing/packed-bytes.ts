/**
 * Immutable bytes in compact form.
 *
 * `PackedBytes` combine own bytes with stretches of a template: the number of stretches, then for each the number of
 * preceding own bytes (two bytes, little-endian) and its index (one byte), then all own bytes. `DeflatedBytes` compress
 * large values.
 */
import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRawSync } from 'node:zlib';
import { maxStretches, type Run, type Template } from '#storage/packing/template.js';
import type { EntryBytes } from '#storage/resource-storage.js';

/** Size of a stretch's description. */
const stretchBytes = 3;
/** Limit of packed values in bytes. */
export const maxPackedBytes = 16 * 1024 - 1;
/** Longest possible description. */
export const maxOwnBytes = 1 + maxStretches * stretchBytes + maxPackedBytes;
/** Up to this size, a loop is faster than a call. */
const loopBytes = 128;

export class PackedBytes implements EntryBytes {
  readonly length: number;
  readonly template: Template;
  /** Own bytes as a one-byte string: a third of a kilobyte smaller than a Buffer, and not on malloc's heap. */
  readonly #own: string;

  private constructor(template: Template, length: number, own: string) {
    this.template = template;
    this.length = length;
    this.#own = own;
  }

  /** Packs the bytes; undefined if more than `maxOwn` bytes are not in the template. */
  static of(bytes: Buffer, template: Template, maxOwn: number): PackedBytes | undefined {
    const runs = template.runs(bytes, maxOwn);
    return runs === undefined || runs.length === 0 ? undefined : PackedBytes.#of(bytes, template, runs);
  }

  static #of(bytes: Buffer, template: Template, runs: readonly Run[]): PackedBytes | undefined {
    const { scratch } = template;
    const shared: Run[] = [];
    let entry = 1;
    for (const run of runs) {
      const stretch = template.stretch(run);
      if (stretch === undefined || shared.length === maxStretches) continue;
      shared.push(run);
      scratch[entry + 2] = stretch;
      entry += stretchBytes;
    }
    if (shared.length === 0) return undefined;
    scratch[0] = shared.length;
    let to = entry;
    let from = 0;
    entry = 1;
    for (const { at, length } of shared) {
      scratch[entry] = (at - from) & 0xff;
      scratch[entry + 1] = (at - from) >> 8;
      entry += stretchBytes;
      to = copyPart(bytes, from, at, scratch, to);
      from = at + length;
    }
    to = copyPart(bytes, from, bytes.length, scratch, to);
    return new PackedBytes(template, bytes.length, scratch.toString('latin1', 0, to));
  }

  /** Length of the own bytes, including the description. */
  get ownLength(): number {
    return this.#own.length;
  }

  copy(target: Buffer, at: number, from = 0): number {
    const { template, length } = this;
    const { scratch } = template;
    // Decode the string at once, since single characters are slow.
    scratch.write(this.#own, 0, 'latin1');
    const ownStart = 1 + (scratch[0] as number) * stretchBytes;
    const end = Math.min(target.length, at + length - from);
    let to = at;
    let skip = from;
    let ownAt = ownStart;
    for (let entry = 1; entry < ownStart && to < end; entry += stretchBytes) {
      const ownEnd = ownAt + ((scratch[entry] as number) | ((scratch[entry + 1] as number) << 8));
      const first = Math.min(ownEnd, ownAt + skip);
      skip -= first - ownAt;
      to = copyPart(scratch, first, Math.min(ownEnd, first + end - to), target, to);
      ownAt = ownEnd;
      const stretch = template.stretches[scratch[entry + 2] as number] as Buffer;
      const start = Math.min(skip, stretch.length);
      skip -= start;
      const count = Math.min(stretch.length - start, end - to);
      if (count === stretch.length) target.set(stretch, to);
      else stretch.copy(target, to, start, start + count);
      to += count;
    }
    copyPart(scratch, ownAt + skip, ownAt + skip + end - to, target, to);
    return end - at;
  }
}

/** Returns the end of the copy. */
function copyPart(source: Buffer, start: number, end: number, target: Buffer, at: number): number {
  if (end - start > loopBytes) target.set(source.subarray(start, end), at);
  else for (let from = start, to = at; from < end; from++, to++) target[to] = source[from] as number;
  return at + end - start;
}

const deflate = promisify(deflateRaw);

/** Inflating larger values would block the event loop for too long. */
const maxDeflatedBytes = 2 * 1024 * 1024;
/** Values that do not shrink to this share stay uncompressed. */
const worthwhile = 0.5;
const options = { level: constants.Z_BEST_SPEED };

/** Bytes that stay uncompressed until `deflate` has finished. */
export class DeflatedBytes implements EntryBytes {
  readonly length: number;
  /** Weak once compressed: a large object is usually read several times in a row. */
  #whole: Buffer | WeakRef<Buffer>;
  #deflated: Buffer | undefined;

  constructor(whole: Buffer) {
    this.length = whole.length;
    this.#whole = whole;
  }

  /** Compresses in another thread, if that saves much. Never rejects; on failure the value stays as it is. */
  async deflate(): Promise<void> {
    const whole = this.#whole;
    if (whole instanceof WeakRef || whole.length > maxDeflatedBytes) return;
    const deflated = await deflate(whole, options).catch(() => undefined);
    if (deflated === undefined || deflated.length > this.length * worthwhile) return;
    // A copy of exact size: zlib's buffer is part of a larger one.
    this.#deflated = Buffer.allocUnsafeSlow(deflated.length);
    this.#deflated.set(deflated);
    this.#whole = new WeakRef(whole);
  }

  copy(target: Buffer, at: number, from = 0): number {
    return this.whole().copy(target, at, from);
  }

  /** Must not be modified. */
  whole(): Buffer {
    const whole = this.#whole;
    if (!(whole instanceof WeakRef)) return whole;
    const cached = whole.deref();
    if (cached !== undefined) return cached;
    const inflated = inflateRawSync(this.#deflated as Buffer, { maxOutputLength: this.length });
    this.#whole = new WeakRef(inflated);
    return inflated;
  }
}
