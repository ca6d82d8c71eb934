/** Bytes that consist of some of their own and of stretches of a template. Immutable. */
import { copyPacked, copyPart, entryBytes, maxSharedBytes } from '#storage/segments/packed.js';
import { begins, joined, type Segmented } from '#storage/segments/segmented.js';
import { maxStretches, type Run, type Template } from '#storage/segments/template.js';

/** Where own bytes are gathered, and read again. */
const scratch = Buffer.allocUnsafeSlow(1 + maxStretches * entryBytes + maxSharedBytes);

export class SharedBytes implements Segmented {
  readonly length: number;
  readonly template: Template;
  /**
   * As `copyPacked` takes it. A string of one byte per character, which takes a third of a kilobyte less than a Buffer, and
   * no place in the heap of malloc.
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

  /** Bytes that nobody else has: as many as `packTo` writes. */
  get ownLength(): number {
    return this.#own.length;
  }

  begins(prefix: Buffer): boolean {
    const own = this.#own;
    const first = own.charCodeAt(3);
    const startsShared = own.charCodeAt(1) === 0 && own.charCodeAt(2) === 0;
    if (startsShared && this.template.stretchAt(first).length >= prefix.length)
      return this.template.begins(first, prefix);
    return begins(joined(this), prefix);
  }

  copyTo(target: Buffer, at: number, from = 0): void {
    // Out of a string all at once, since each character by itself is slow.
    const length = scratch.write(this.#own, 0, 'latin1');
    copyPacked(scratch, 0, length, this.template, target, at, from);
  }

  /** Writes what describes them but for the template, as `copyPacked` takes it. */
  packTo(target: Buffer, at: number): void {
    target.write(this.#own, at, 'latin1');
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
