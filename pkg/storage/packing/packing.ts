/**
 * Stores the bytes of many objects compactly: small objects share bytes with templates, large ones are compressed.
 *
 * Templates are indexed by object name and kind: objects of one controller have a common name prefix, and objects of
 * one kind are somewhat similar. The index is bounded; an evicted template lives as long as objects use it. A template
 * is never much larger than the object, so an object never retains much more than its own size.
 */
import { DeflatedBytes, maxOwnBytes, maxPackedBytes, PackedBytes } from '#storage/packing/packed-bytes.js';
import { Template } from '#storage/packing/template.js';
import type { EntryBytes } from '#storage/resource-storage.js';

/** Minimum size: below it, sharing costs more than it saves. */
const minBytes = 512;
/** Objects of one name have a few states, such as pending and running. */
const maxTemplatesPerName = 4;
/** With at most this share of own bytes, no other template is tried. */
const goodOwnShare = 0.15;
/** Objects with a larger share of own bytes become templates. */
const fairOwnShare = 0.25;
/** Above this share of own bytes nothing is shared. */
const maxOwnShare = 0.6;
/** Approximate memory of a template, with its block index and stretch views. */
const costOf = ({ bytes }: Template): number => 3 * bytes.length + 4096;
const defaultTemplateBytes = 32 * 1024 * 1024;

export class Packing {
  /** Buffer for bytes to pack; overwritten by the next ones. */
  readonly memory = Buffer.allocUnsafeSlow(maxPackedBytes);
  readonly #scratch = Buffer.allocUnsafeSlow(maxOwnBytes);
  readonly #maxTemplateBytes: number;
  /** Templates by name, in order of last use. */
  readonly #byName = new Map<string, Template[]>();
  #templateBytes = 0;
  readonly #large: DeflatedBytes[] = [];
  #deflating = false;

  /** `maxTemplateBytes`: limit of the indexed templates' memory. */
  constructor({ maxTemplateBytes = defaultTemplateBytes }: { readonly maxTemplateBytes?: number } = {}) {
    this.#maxTemplateBytes = maxTemplateBytes;
  }

  /** Memory of the indexed templates; one with several names counts several times. */
  get templateBytes(): number {
    return this.#templateBytes;
  }

  /** The same bytes in compact form. `key` is the object's key, `form` the name of its encoding. */
  pack(key: string, form: string, bytes: Buffer): EntryBytes {
    if (bytes.length < minBytes) return ownCopy(bytes);
    if (bytes.length <= maxPackedBytes) return this.#share(namesOf(key, form), bytes);
    const large = new DeflatedBytes(ownCopy(bytes));
    this.#large.push(large);
    if (!this.#deflating) void this.#deflate();
    return large;
  }

  /** Compresses values one after the other, to leave cores for other threads. */
  async #deflate(): Promise<void> {
    this.#deflating = true;
    for (let next = this.#large.shift(); next !== undefined; next = this.#large.shift()) await next.deflate();
    this.#deflating = false;
  }

  #share({ name, kind }: Names, bytes: Buffer): EntryBytes {
    const { length } = bytes;
    let best: PackedBytes | undefined;
    for (const template of this.#candidates(name, kind)) {
      const maxOwn = best === undefined ? Math.floor(length * maxOwnShare) : best.ownLength - 1;
      if (template.bytes.length <= 2 * length) best = PackedBytes.of(bytes, template, maxOwn) ?? best;
      if (best !== undefined && best.ownLength <= length * goodOwnShare) break;
    }
    if (best !== undefined && best.ownLength <= length * fairOwnShare) {
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

  /** Makes the template the first to try for the name. */
  #remember(name: string, template: Template): void {
    const templates = this.#byName.get(name) ?? [];
    this.#byName.delete(name);
    this.#byName.set(name, templates);
    if (templates[0] === template) return;
    const at = templates.indexOf(template);
    if (at >= 0) templates.splice(at, 1);
    else this.#templateBytes += costOf(template);
    templates.unshift(template);
    if (templates.length > maxTemplatesPerName) this.#templateBytes -= costOf(templates.pop() as Template);
    for (const [oldest, evicted] of this.#byName) {
      if (this.#templateBytes <= this.#maxTemplateBytes || oldest === name) break;
      this.#byName.delete(oldest);
      for (const each of evicted) this.#templateBytes -= costOf(each);
    }
  }
}

interface Names {
  readonly name: string;
  /** Common name of all objects of the kind. */
  readonly kind: string;
}

function namesOf(key: string, form: string): Names {
  const kind = key.slice(0, key.indexOf('/', 1 + key.indexOf('/', 1)));
  return { name: `${form} ${stemOf(key)}`, kind: `${form} ${kind}` };
}

/** Common prefix of the names that a controller generates: `/registry/pods/default/web-6d4cf56db6`. */
function stemOf(key: string): string {
  const start = key.lastIndexOf('/') + 1;
  let end = key.lastIndexOf('.');
  if (end <= start) end = key.length;
  const dash = key.lastIndexOf('-', end - 1);
  return key.slice(0, dash > start ? dash : end);
}

/** A copy with its own memory: a view would keep the whole buffer alive. */
export function ownCopy(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
