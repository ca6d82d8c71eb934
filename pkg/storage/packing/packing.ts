/**
 * Keeps bytes of many objects in little memory. Small ones are made of what others have too, large ones are compressed.
 *
 * Templates go by the names of the objects that resembled them: objects of one controller have names that begin alike, and
 * objects of one kind resemble each other a little. Bounded in bytes: a template that is forgotten here lives on as long as
 * an object is made of it. No object is made of a template of another order of size, so that what is kept for an object is
 * never much more than the object.
 */
import { DeflatedBytes, maxOwnBytes, maxPackedBytes, PackedBytes } from '#storage/packing/packed-bytes.js';
import { Template } from '#storage/packing/template.js';
import type { EntryBytes } from '#storage/resource-storage.js';

/** Smaller ones save less than what sharing costs. */
const minBytes = 512;
/** Objects of one name go through some states, such as pending and running. */
const perName = 4;
/** Own bytes up to this share are as good as it gets: no other template is tried. */
const good = 0.15;
/** An object with more own bytes than this is a template for the next ones. */
const fair = 0.25;
/** With more own bytes than this nothing is shared. */
const most = 0.6;
/** What a template takes besides its bytes, about: where its blocks are, and views of its stretches. */
const costOf = ({ bytes }: Template): number => 3 * bytes.length + 4096;
const defaultTemplateBytes = 32 * 1024 * 1024;

export class Packing {
  /** For bytes to be packed: what is in it may be overwritten by the next ones. */
  readonly memory = Buffer.allocUnsafeSlow(maxPackedBytes);
  readonly #scratch = Buffer.allocUnsafeSlow(maxOwnBytes);
  readonly #maxTemplateBytes: number;
  /** In the order of their last use. */
  readonly #byName = new Map<string, Template[]>();
  #templateBytes = 0;
  readonly #large: DeflatedBytes[] = [];
  #deflating = false;

  /** `maxTemplateBytes`: what the templates that are remembered take, at most. */
  constructor({ maxTemplateBytes = defaultTemplateBytes }: { readonly maxTemplateBytes?: number } = {}) {
    this.#maxTemplateBytes = maxTemplateBytes;
  }

  /** What the templates that are remembered take; one that goes by several names counts for each. */
  get templateBytes(): number {
    return this.#templateBytes;
  }

  /** The same bytes to be kept. `key` is the object's in the store, `form` the name of its representation. */
  pack(key: string, form: string, bytes: Buffer): EntryBytes {
    if (bytes.length < minBytes) return ownCopy(bytes);
    if (bytes.length <= maxPackedBytes) return this.#share(namesOf(key, form), bytes);
    const large = new DeflatedBytes(ownCopy(bytes));
    this.#large.push(large);
    if (!this.#deflating) void this.#deflate();
    return large;
  }

  /** One after the other, so that other threads have cores left. */
  async #deflate(): Promise<void> {
    this.#deflating = true;
    for (let next = this.#large.shift(); next !== undefined; next = this.#large.shift()) await next.deflate();
    this.#deflating = false;
  }

  #share({ name, kind }: Names, bytes: Buffer): EntryBytes {
    const { length } = bytes;
    let best: PackedBytes | undefined;
    for (const template of this.#candidates(name, kind)) {
      const wanted = best === undefined ? Math.floor(length * most) : best.ownLength - 1;
      if (template.bytes.length <= 2 * length) best = PackedBytes.of(bytes, template, wanted) ?? best;
      if (best !== undefined && best.ownLength <= length * good) break;
    }
    if (best !== undefined && best.ownLength <= length * fair) {
      this.#remember(name, best.template);
      return best;
    }
    const template = new Template(ownCopy(bytes), this.#scratch);
    this.#remember(name, template);
    this.#remember(kind, template);
    return best ?? template.bytes;
  }

  *#candidates(name: string, kind: string): Generator<Template> {
    const named = this.#byName.get(name);
    if (named !== undefined) yield* named;
    for (const template of this.#byName.get(kind) ?? []) if (named?.includes(template) !== true) yield template;
  }

  /** As the first to be tried for that name. */
  #remember(name: string, template: Template): void {
    const known = this.#byName.get(name) ?? [];
    this.#byName.delete(name);
    this.#byName.set(name, known);
    if (known[0] === template) return;
    const at = known.indexOf(template);
    if (at >= 0) known.splice(at, 1);
    else this.#templateBytes += costOf(template);
    known.unshift(template);
    if (known.length > perName) this.#templateBytes -= costOf(known.pop() as Template);
    for (const [oldest, templates] of this.#byName) {
      if (this.#templateBytes <= this.#maxTemplateBytes || oldest === name) break;
      this.#byName.delete(oldest);
      for (const forgotten of templates) this.#templateBytes -= costOf(forgotten);
    }
  }
}

interface Names {
  readonly name: string;
  /** Of all objects of the kind. */
  readonly kind: string;
}

function namesOf(key: string, form: string): Names {
  const kind = key.slice(0, key.indexOf('/', 1 + key.indexOf('/', 1)));
  return { name: `${form} ${stemOf(key)}`, kind: `${form} ${kind}` };
}

/** What the names of objects that one controller or one template makes begin with: `/registry/pods/default/web-6d4cf56db6`. */
function stemOf(key: string): string {
  const start = key.lastIndexOf('/') + 1;
  let end = key.lastIndexOf('.');
  if (end <= start) end = key.length;
  const dash = key.lastIndexOf('-', end - 1);
  return key.slice(0, dash > start ? dash : end);
}

/** In memory of their own: a part of something larger would keep all of it alive. */
export function ownCopy(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
