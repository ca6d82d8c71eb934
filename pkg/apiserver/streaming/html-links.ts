/**
 * Links of a page behind a proxy: those that begin at the root of its host lead past the proxy, so its own path is put
 * before them, in the attributes in which release 1.24 does so (apimachinery/pkg/util/proxy). Everything else of the page
 * stays byte for byte as it was.
 */
import { Transform, type TransformCallback } from 'node:stream';
import { Tokenizer } from 'htmlparser2';

export interface LinkContext {
  /** Path of the proxy, without a slash at its end. */
  readonly prefix: string;
  /** `host:port` of links that mean the same server: the backend's, and the one that the client asked for. */
  readonly hosts: readonly string[];
}

const src = new Set(['src']);
const href = new Set(['href']);
const cite = new Set(['cite']);
const frame = new Set(['longdesc', 'src']);

/** Attributes with links, by element. */
const linkAttributes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['a', href],
  ['applet', new Set(['codebase'])],
  ['area', href],
  ['audio', src],
  ['base', href],
  ['blockquote', cite],
  ['body', new Set(['background'])],
  ['button', new Set(['formaction'])],
  ['command', new Set(['icon'])],
  ['del', cite],
  ['embed', src],
  ['form', new Set(['action'])],
  ['frame', frame],
  ['head', new Set(['profile'])],
  ['html', new Set(['manifest'])],
  ['iframe', frame],
  ['img', new Set(['longdesc', 'src', 'usemap'])],
  ['input', new Set(['src', 'usemap', 'formaction'])],
  ['ins', cite],
  ['link', href],
  ['object', new Set(['classid', 'codebase', 'data', 'usemap'])],
  ['q', cite],
  ['script', src],
  ['source', src],
  ['video', new Set(['poster', 'src'])],
]);

/**
 * The link as it leads through the proxy. Relative ones and those to other hosts stay, and so do those that have the
 * proxy's path already.
 */
export function rewriteLink(link: string, { prefix, hosts }: LinkContext): string {
  const match = /^(?:(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/?#@]*@)?([^/?#]*))?(\/.*)$/is.exec(link);
  if (match === null) return link;
  const [, host, path = ''] = match;
  if (host !== undefined && host !== '' && !hosts.includes(host.toLowerCase())) return link;
  return path.startsWith(prefix) ? path : `${prefix}${path}`;
}

/** Longer links are left as they are: so much of a page is held back at most. */
const maxLinkLength = 8192;
/** Names of elements and attributes may be cut by the end of a part. */
const maxNameLength = 64;

/** Passes a page on with its links rewritten, part by part. Its bytes are taken as they are, whatever their charset. */
export class LinkRewriter extends Transform {
  readonly #context: LinkContext;
  readonly #tokenizer: Tokenizer;
  /** Of the page, from `#base` on; what was written out long ago is dropped. */
  #text = '';
  #base = 0;
  /** How far the page was written out. */
  #written = 0;
  #parts: string[] = [];
  #attributes: ReadonlySet<string> | undefined;
  #isLink = false;
  /** The value of a link attribute that is being read. */
  #value: { readonly from: number; to: number } | undefined;

  constructor({ prefix, hosts }: LinkContext) {
    super();
    // The path came with a request, and goes between quotes of any kind.
    const safe = prefix.replace(/["'<>`\s&]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
    this.#context = { prefix: safe, hosts: hosts.map((host) => host.toLowerCase()) };
    const ignored = () => undefined;
    this.#tokenizer = new Tokenizer(
      { decodeEntities: false },
      {
        onopentagname: (from, to) => {
          this.#attributes = linkAttributes.get(this.#name(from, to));
        },
        onattribname: (from, to) => {
          this.#isLink = this.#attributes?.has(this.#name(from, to)) === true;
        },
        onattribdata: (from, to) => {
          if (!this.#isLink) return;
          if (this.#value === undefined) this.#value = { from, to };
          else this.#value.to = to;
        },
        onattribend: () => this.#endOfValue(),
        onattribentity: ignored,
        oncdata: ignored,
        onclosetag: ignored,
        oncomment: ignored,
        ondeclaration: ignored,
        onend: ignored,
        onopentagend: ignored,
        onprocessinginstruction: ignored,
        onselfclosingtag: ignored,
        ontext: ignored,
        ontextentity: ignored,
      },
    );
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const part = chunk.toString('latin1');
    this.#text += part;
    this.#tokenizer.write(part);
    const end = this.#base + this.#text.length;
    if (this.#value !== undefined && end - this.#value.from > maxLinkLength) {
      this.#value = undefined;
      this.#isLink = false;
    }
    this.#writeOut(this.#value?.from ?? end);
    done(null, this.#taken());
  }

  override _flush(done: TransformCallback): void {
    this.#writeOut(this.#base + this.#text.length);
    done(null, this.#taken());
  }

  #endOfValue(): void {
    const value = this.#value;
    this.#isLink = false;
    this.#value = undefined;
    if (value === undefined) return;
    this.#writeOut(value.from);
    const link = this.#slice(value.from, value.to);
    this.#parts.push(rewriteLink(link, this.#context));
    this.#written = value.to;
  }

  #writeOut(to: number): void {
    if (to <= this.#written) return;
    this.#parts.push(this.#slice(this.#written, to));
    this.#written = to;
  }

  /** What was written out since the last time; forgets what no name can reach back to. */
  #taken(): Buffer {
    const text = this.#parts.join('');
    this.#parts = [];
    const keptFrom = Math.max(this.#base, Math.min(this.#written, this.#base + this.#text.length - maxNameLength));
    this.#text = this.#text.slice(keptFrom - this.#base);
    this.#base = keptFrom;
    return Buffer.from(text, 'latin1');
  }

  /** In lower case; empty for one that is too long to be known. */
  #name(from: number, to: number): string {
    return from < this.#base || to - from > maxNameLength ? '' : this.#slice(from, to).toLowerCase();
  }

  #slice(from: number, to: number): string {
    return this.#text.slice(from - this.#base, to - this.#base);
  }
}
