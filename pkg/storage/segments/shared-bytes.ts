/** Bytes that consist of some of their own and of stretches of a template. Immutable. */
import { begins, joined, type Segmented } from '#storage/segments/segmented.js';
import { maxStretches, type Run, type Template } from '#storage/segments/template.js';

/** For each stretch: two bytes for the number of own bytes before it, one for its index. */
const entryBytes = 3;
/** What is longer cannot be described so. */
export const maxSharedBytes = 64 * 1024 - 1;
/** Up to here a plain loop is faster than a call. */
const loopBytes = 128;

/** Where own bytes are gathered, and read again. */
const scratch = Buffer.allocUnsafeSlow(1 + maxStretches * entryBytes + maxSharedBytes);

export class SharedBytes implements Segmented {
  readonly length: number;
  readonly template: Template;
  /**
   * How many stretches there are, each with the own bytes before it, then all own bytes. As a string of one byte per
   * character, which takes a third of a kilobyte less than a Buffer, and no place in the heap of malloc.
   */
  readonly #own: string;

  /** See `of`. */
  constructor(template: Template, length: number, own: string) {
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
    const own = this.#own;
    const first = this.template.stretches[own.charCodeAt(3)] as Buffer;
    const startsShared = own.charCodeAt(1) === 0 && own.charCodeAt(2) === 0 && first.length >= prefix.length;
    return begins(startsShared ? first : joined(this), prefix);
  }

  copyTo(target: Buffer, at: number, from = 0): void {
    // Out of a string all at once, since each character by itself is slow.
    const own = scratch;
    const ownLength = own.write(this.#own, 0, 'latin1');
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
      const stretch = stretches[index] as Buffer;
      if (skip >= stretch.length) {
        skip -= stretch.length;
        continue;
      }
      const part = skip === 0 ? stretch : template.tail(index, skip);
      skip = 0;
      target.set(part, to);
      to += part.length;
    }
    copyPart(own, ownAt + skip, ownLength, target, to);
  }
}

function pack(bytes: Buffer, template: Template, runs: readonly Run[]): SharedBytes | undefined {
  const taken: Run[] = [];
  let entry = 1;
  for (const run of runs) {
    const stretch = template.stretch(run);
    if (stretch === undefined || taken.length === maxStretches) continue;
    taken.push(run);
    scratch[entry + 2] = stretch;
    entry += entryBytes;
  }
  if (taken.length === 0) return undefined;
  scratch[0] = taken.length;
  let to = entry;
  let from = 0;
  entry = 1;
  for (const { at, length } of taken) {
    scratch[entry] = (at - from) & 0xff;
    scratch[entry + 1] = (at - from) >> 8;
    entry += entryBytes;
    copyPart(bytes, from, at, scratch, to);
    to += at - from;
    from = at + length;
  }
  copyPart(bytes, from, bytes.length, scratch, to);
  to += bytes.length - from;
  return new SharedBytes(template, bytes.length, scratch.toString('latin1', 0, to));
}

function copyPart(source: Buffer, start: number, end: number, target: Buffer, at: number): void {
  if (end - start > loopBytes) target.set(source.subarray(start, end), at);
  else for (let from = start, to = at; from < end; from++, to++) target[to] = source[from] as number;
}
