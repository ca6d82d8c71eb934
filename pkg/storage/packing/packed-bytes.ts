/**
 * Bytes in less memory than they are long. Immutable.
 *
 * `PackedBytes` consist of some of their own and of stretches of a template: how many stretches there are, for each the
 * number of own bytes before it (two bytes, the low one first) and its index (one byte), then all own bytes.
 * `DeflatedBytes` are of what is large, which is compressed by itself.
 */
import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRawSync } from 'node:zlib';
import { maxStretches, type Run, type Template } from '#storage/packing/template.js';
import type { EntryBytes } from '#storage/resource-storage.js';

/** For each stretch. */
const stretchBytes = 3;
/** What is longer is not packed. */
export const maxPackedBytes = 16 * 1024 - 1;
/** What describes the longest. */
export const maxOwnBytes = 1 + maxStretches * stretchBytes + maxPackedBytes;
/** Up to here a plain loop is faster than a call. */
const loopBytes = 128;

export class PackedBytes implements EntryBytes {
  readonly length: number;
  readonly template: Template;
  /** A string of one byte per character takes a third of a kilobyte less than a Buffer, and no place in the heap of malloc. */
  readonly #own: string;

  private constructor(template: Template, length: number, own: string) {
    this.template = template;
    this.length = length;
    this.#own = own;
  }

  /** Undefined when more than `maxOwn` bytes of them would be their own. */
  static of(bytes: Buffer, template: Template, maxOwn: number): PackedBytes | undefined {
    const runs = template.runs(bytes, maxOwn);
    return runs === undefined || runs.length === 0 ? undefined : PackedBytes.#of(bytes, template, runs);
  }

  static #of(bytes: Buffer, template: Template, runs: readonly Run[]): PackedBytes | undefined {
    const { scratch } = template;
    const taken: Run[] = [];
    let entry = 1;
    for (const run of runs) {
      const stretch = template.stretch(run);
      if (stretch === undefined || taken.length === maxStretches) continue;
      taken.push(run);
      scratch[entry + 2] = stretch;
      entry += stretchBytes;
    }
    if (taken.length === 0) return undefined;
    scratch[0] = taken.length;
    let to = entry;
    let from = 0;
    entry = 1;
    for (const { at, length } of taken) {
      scratch[entry] = (at - from) & 0xff;
      scratch[entry + 1] = (at - from) >> 8;
      entry += stretchBytes;
      to = copyPart(bytes, from, at, scratch, to);
      from = at + length;
    }
    to = copyPart(bytes, from, bytes.length, scratch, to);
    return new PackedBytes(template, bytes.length, scratch.toString('latin1', 0, to));
  }

  /** Bytes that no others have, with what describes them. */
  get ownLength(): number {
    return this.#own.length;
  }

  copy(target: Buffer, at: number, from = 0): number {
    const { template, length } = this;
    const { scratch } = template;
    // Out of a string all at once, since each character by itself is slow.
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

/** Returns where it ends. */
function copyPart(source: Buffer, start: number, end: number, target: Buffer, at: number): number {
  if (end - start > loopBytes) target.set(source.subarray(start, end), at);
  else for (let from = start, to = at; from < end; from++, to++) target[to] = source[from] as number;
  return at + end - start;
}

const deflate = promisify(deflateRaw);

/** Larger ones would hold the event loop for too long when they are read. */
const maxDeflatedBytes = 2 * 1024 * 1024;
/** What does not shrink to this part stays as it is. */
const worthwhile = 0.5;
const options = { level: constants.Z_BEST_SPEED };

/** In one piece until they have been compressed. */
export class DeflatedBytes implements EntryBytes {
  readonly length: number;
  /** Weak as soon as they are compressed: a large object is read several times in a row. */
  #whole: Buffer | WeakRef<Buffer>;
  #deflated: Buffer | undefined;

  constructor(whole: Buffer) {
    this.length = whole.length;
    this.#whole = whole;
  }

  /** Compresses them beside this thread, where that saves much. Never rejects: what it fails for stays as it is. */
  async deflate(): Promise<void> {
    const whole = this.#whole;
    if (whole instanceof WeakRef || whole.length > maxDeflatedBytes) return;
    const deflated = await deflate(whole, options).catch(() => undefined);
    if (deflated === undefined || deflated.length > this.length * worthwhile) return;
    // Of its own size: zlib's is a part of something larger.
    this.#deflated = Buffer.allocUnsafeSlow(deflated.length);
    this.#deflated.set(deflated);
    this.#whole = new WeakRef(whole);
  }

  copy(target: Buffer, at: number, from = 0): number {
    return this.whole().copy(target, at, from);
  }

  /** Not to be changed. */
  whole(): Buffer {
    const whole = this.#whole;
    if (!(whole instanceof WeakRef)) return whole;
    const known = whole.deref();
    if (known !== undefined) return known;
    const inflated = inflateRawSync(this.#deflated as Buffer, { maxOutputLength: this.length });
    this.#whole = new WeakRef(inflated);
    return inflated;
  }
}
