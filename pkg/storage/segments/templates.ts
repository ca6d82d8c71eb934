/**
 * Templates by the names of the objects that resembled them: objects of one controller have names that begin alike, and
 * objects of one kind resemble each other a little. Bounded in bytes: a template that is forgotten here lives on as long as
 * an object is made of it. No object is made of a template of another order of size, so that what is kept for an object is
 * never much more than the object.
 */
import { maxSharedBytes } from '#storage/segments/packed.js';
import { SharedBytes } from '#storage/segments/shared-bytes.js';
import { Template } from '#storage/segments/template.js';

export interface TemplatesOptions {
  /** What the templates that are remembered take, at most. */
  readonly maxBytes: number;
}

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
/** How alike large ones must seem to be. */
const worthwhile = 0.9 - most;
/** From here on it is cheaper to tell how alike two are before they are compared byte by byte. */
const largeBytes = 16 * 1024;
/** What a template takes besides its bytes, about: where its blocks are, and views of its stretches. */
const costOf = ({ bytes }: Template): number => 3 * bytes.length + 4096;

export class Templates {
  readonly #maxBytes: number;
  /** In the order of their last use. */
  readonly #byName = new Map<string, Template[]>();
  #bytes = 0;

  constructor({ maxBytes }: TemplatesOptions) {
    this.#maxBytes = maxBytes;
  }

  /** What the templates that are remembered take; one that goes by several names counts for each. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The same bytes, made of others that are there already; undefined where that saves little. `key` is the object's in the
   * store, `form` the name of its representation. The bytes may become a template and must stay as they are, unless `keep`
   gives the same in a place where they do.
   */
  share(key: string, form: string, bytes: Buffer, keep: () => Buffer = () => bytes): SharedBytes | undefined {
    if (!isSharable(bytes)) return undefined;
    const names = namesOf(key, form);
    const best = this.#best(names, bytes);
    if (best === undefined || best.ownLength > bytes.length * fair) {
      const template = new Template(keep());
      this.#remember(names.name, template);
      this.#remember(names.kind, template);
    } else this.#remember(names.name, best.template);
    return best;
  }

  /** The same where that saves much; the bytes may change afterwards. */
  match(key: string, form: string, bytes: Buffer): SharedBytes | undefined {
    if (!isSharable(bytes)) return undefined;
    const names = namesOf(key, form);
    const best = this.#best(names, bytes);
    if (best === undefined || best.ownLength > bytes.length * fair) return undefined;
    this.#remember(names.name, best.template);
    return best;
  }

  #best({ name, kind }: Names, bytes: Buffer): SharedBytes | undefined {
    const { length } = bytes;
    let best: SharedBytes | undefined;
    const known = this.#candidates(name, kind);
    for (const template of length < largeBytes ? known : likest(known, bytes)) {
      const wanted = best === undefined ? Math.floor(length * most) : best.ownLength - 1;
      if (template.bytes.length <= 2 * length) best = SharedBytes.of(bytes, template, wanted) ?? best;
      if (best !== undefined && best.ownLength <= length * good) break;
    }
    return best;
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
    else this.#bytes += costOf(template);
    known.unshift(template);
    if (known.length > perName) this.#bytes -= costOf(known.pop() as Template);
    for (const [oldest, templates] of this.#byName) {
      if (this.#bytes <= this.#maxBytes || oldest === name) break;
      this.#byName.delete(oldest);
      for (const forgotten of templates) this.#bytes -= costOf(forgotten);
    }
  }
}

/** The one that large bytes have most in common with, if that may be enough. */
function likest(templates: Iterable<Template>, bytes: Buffer): Template[] {
  let best: Template | undefined;
  let most = worthwhile;
  for (const template of templates) {
    const likeness = template.bytes.length <= 2 * bytes.length ? template.likeness(bytes) : 0;
    if (likeness <= most) continue;
    best = template;
    most = likeness;
    if (likeness > 1 - good) break;
  }
  return best === undefined ? [] : [best];
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

function isSharable({ length }: Buffer): boolean {
  return length >= minBytes && length <= maxSharedBytes;
}

/** What the names of objects that one controller or one template makes begin with: `/registry/pods/default/web-6d4cf56db6`. */
function stemOf(key: string): string {
  const start = key.lastIndexOf('/') + 1;
  let end = key.lastIndexOf('.');
  if (end <= start) end = key.length;
  const dash = key.lastIndexOf('-', end - 1);
  return key.slice(0, dash > start ? dash : end);
}
