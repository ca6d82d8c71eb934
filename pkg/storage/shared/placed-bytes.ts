/** Bytes in shared memory of which parts are a template's, which is in shared memory, too. */
import { copyPacked, entryBytes, StretchSource } from '#storage/segments/packed.js';
import { begins, joined, type Segmented } from '#storage/segments/segmented.js';
import { maxStretches, type Template } from '#storage/segments/template.js';

/** For each stretch where it begins and how long it is, in 16-bit numbers; in front of the template's bytes. */
const tableNumbers = 2 * maxStretches;
const tableBytes = 2 * tableNumbers;

/** A template of the thread that follows the store, as all threads see it. Its stretches become more. */
export class PlacedTemplate extends StretchSource {
  readonly isShared = true;
  readonly memory: SharedArrayBuffer;
  readonly #table: Uint16Array;
  readonly #stretches: Uint8Array[] = [];

  constructor(memory: SharedArrayBuffer) {
    super();
    this.memory = memory;
    this.#table = new Uint16Array(memory, 0, tableNumbers);
  }

  /** Memory for a template of that many bytes. */
  static bytesFor(length: number): number {
    return tableBytes + length;
  }

  stretchAt(index: number): Uint8Array {
    const known = this.#stretches[index];
    if (known !== undefined) return known;
    const from = tableBytes + (this.#table[2 * index] as number);
    const stretch = new Uint8Array(this.memory, from, this.#table[2 * index + 1]);
    this.#stretches[index] = stretch;
    return stretch;
  }
}

/** Writes a template to memory that `PlacedTemplate`s of all threads read. */
export class TemplateWriter {
  readonly placed: PlacedTemplate;
  readonly #template: Template;
  readonly #table: Uint16Array;
  #stretches = 0;

  constructor(template: Template) {
    const { bytes } = template;
    const memory = new SharedArrayBuffer(PlacedTemplate.bytesFor(bytes.length));
    new Uint8Array(memory, tableBytes).set(bytes);
    this.placed = new PlacedTemplate(memory);
    this.#template = template;
    this.#table = new Uint16Array(memory, 0, tableNumbers);
  }

  /** Writes the stretches that are new. Those who read of them are told of them afterwards. */
  update(): void {
    const { bytes, stretches } = this.#template;
    for (; this.#stretches < stretches.length; this.#stretches++) {
      const stretch = stretches[this.#stretches] as Buffer;
      this.#table[2 * this.#stretches] = stretch.byteOffset - bytes.byteOffset;
      this.#table[2 * this.#stretches + 1] = stretch.length;
    }
  }
}

export interface PackedPlace {
  /** All of the slab. */
  readonly slab: Buffer;
  readonly offset: number;
  /** Of what is described there as `copyPacked` takes it. */
  readonly packedLength: number;
  readonly template: PlacedTemplate;
  readonly length: number;
}

export class PlacedBytes implements Segmented {
  readonly length: number;
  readonly template: PlacedTemplate;
  readonly slab: Buffer;
  readonly offset: number;
  readonly packedLength: number;

  constructor({ slab, offset, packedLength, template, length }: PackedPlace) {
    this.length = length;
    this.template = template;
    this.slab = slab;
    this.offset = offset;
    this.packedLength = packedLength;
  }

  begins(prefix: Buffer): boolean {
    const { slab, offset, template } = this;
    const first = slab[offset + entryBytes] as number;
    const startsShared = slab[offset + 1] === 0 && slab[offset + 2] === 0;
    if (startsShared && template.stretchAt(first).length >= prefix.length) return template.begins(first, prefix);
    return begins(joined(this), prefix);
  }

  copyTo(target: Buffer, at: number, from = 0): void {
    const { slab, offset, packedLength, template } = this;
    copyPacked(slab, offset, offset + packedLength, template, target, at, from);
  }
}
