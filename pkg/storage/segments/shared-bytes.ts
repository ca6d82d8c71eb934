/** Bytes that consist of some of their own and of stretches of a template. Immutable. */
import { begins, joined, type Segmented } from '#storage/segments/segmented.js';
import { maxStretches, type Run, type Template } from '#storage/segments/template.js';

/** For each stretch: two bytes for the number of own bytes before it, one for its index. */
const entryBytes = 3;
/** What is longer cannot be described so. */
export const maxSharedBytes = 64 * 1024 - 1;
/** Up to here a plain loop is faster than a call. */
const loopBytes = 128;

export class SharedBytes implements Segmented {
  readonly length: number;
  readonly template: Template;
  /** How many stretches there are, each with the own bytes before it, then all own bytes. */
  readonly #own: Uint8Array;

  /** See `of`. */
  constructor(template: Template, length: number, own: Uint8Array) {
    this.template = template;
    this.length = length;
    this.#own = own;
  }

  /** Undefined when more than `maxOwn` bytes of them would be their own. */
  static of(bytes: Buffer, template: Template, maxOwn: number): SharedBytes | undefined {
    if (bytes.length > maxSharedBytes) return undefined;
    const runs = template.runs(bytes, maxOwn);
    return runs === undefined || runs.length === 0 ? undefined : pack(bytes, template, runs);
  }

  /** Bytes that nobody else has. */
  get ownLength(): number {
    return this.#own.length;
  }

  begins(prefix: Buffer): boolean {
    const first = this.template.stretches[this.#own[3] as number] as Buffer;
    const startsShared = this.#own[1] === 0 && this.#own[2] === 0 && first.length >= prefix.length;
    return begins(startsShared ? first : joined(this), prefix);
  }

  copyTo(target: Uint8Array, at: number, from = 0): void {
    const own = this.#own;
    const { template } = this;
    const { stretches } = template;
    const end = 1 + (own[0] as number) * entryBytes;
    let to = at;
    let skip = from;
    let ownAt = end;
    for (let entry = 1; entry < end; entry += entryBytes) {
      const ownEnd = ownAt + ((own[entry] as number) | ((own[entry + 1] as number) << 8));
      const first = Math.min(ownEnd, ownAt + skip);
      skip -= first - ownAt;
      copyPart(own, first, ownEnd, target, to);
      to += ownEnd - first;
      ownAt = ownEnd;
      const index = own[entry + 2] as number;
      const stretch = stretches[index] as Uint8Array;
      if (skip >= stretch.length) {
        skip -= stretch.length;
        continue;
      }
      const part = skip === 0 ? stretch : template.tail(index, skip);
      skip = 0;
      target.set(part, to);
      to += part.length;
    }
    copyPart(own, ownAt + skip, own.length, target, to);
  }
}

function copyPart(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): void {
  if (end - start > loopBytes) {
    target.set(source.subarray(start, end), at);
    return;
  }
  for (let from = start, to = at; from < end; from++, to++) target[to] = source[from] as number;
}

function pack(bytes: Buffer, template: Template, runs: readonly Run[]): SharedBytes | undefined {
  const stretches: number[] = [];
  const taken: Run[] = [];
  let ownLength = bytes.length;
  for (const run of runs) {
    const stretch = template.stretch(run);
    if (stretch === undefined || taken.length === maxStretches) continue;
    stretches.push(stretch);
    taken.push(run);
    ownLength -= run.length;
  }
  const own = Buffer.allocUnsafeSlow(1 + taken.length * entryBytes + ownLength);
  own[0] = taken.length;
  let to = 1 + taken.length * entryBytes;
  let from = 0;
  for (const [i, { at, length }] of taken.entries()) {
    const entry = 1 + i * entryBytes;
    own[entry] = (at - from) & 0xff;
    own[entry + 1] = (at - from) >> 8;
    own[entry + 2] = stretches[i] as number;
    copyPart(bytes, from, at, own, to);
    to += at - from;
    from = at + length;
  }
  copyPart(bytes, from, bytes.length, own, to);
  return new SharedBytes(template, bytes.length, own);
}
