/**
 * Rewrites links of a page behind a proxy: absolute paths would bypass the proxy, so its path is prepended to them, in the same
 * attributes as in release 1.24 (apimachinery/pkg/util/proxy). The rest of the page stays unchanged, byte for byte.
 */
import { Transform, type TransformCallback } from 'node:stream';
import { Tokenizer } from 'htmlparser2';

export interface LinkContext {
  /** Path of the proxy, without a trailing slash. */
  readonly prefix: string;
  /** `host:port` of links to the same server: the backend's own, and that of the client's request. */
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

/** The link through the proxy. Relative links, links to other hosts, and links with the proxy's path stay unchanged. */
export function rewriteLink(link: string, { prefix, hosts }: LinkContext): string {
  const match = /^(?:(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/?#@]*@)?([^/?#]*))?(\/.*)$/is.exec(link);
  if (match === null) return link;
  const [, host, path = ''] = match;
  if (host !== undefined && host !== '' && !hosts.includes(host.toLowerCase())) return link;
  return path.startsWith(prefix) ? path : `${prefix}${path}`;
}

/** Longer links stay unchanged, which bounds the buffered part of a page. */
const maxLinkLength = 8192;
/** Limit of the name of an element or attribute that spans two chunks. */
const maxNameLength = 64;

/** Rewrites a page's links, chunk by chunk. Works on bytes, in any charset. */
export class LinkRewriter extends Transform {
  readonly #context: LinkContext;
  readonly #tokenizer: Tokenizer;
  /** The page from `#base` on; earlier text is dropped. */
  #text = '';
  #base = 0;
  /** End of the part of the page that was written. */
  #written = 0;
  #parts: string[] = [];
  #attributes: ReadonlySet<string> | undefined;
  #isLink = false;
  /** The current value of a link attribute. */
  #value: { readonly from: number; to: number } | undefined;

  constructor({ prefix, hosts }: LinkContext) {
    super();
    // The path comes from a request and is inserted between quotes of any kind.
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
    done(null, this.#takeOutput());
  }

  override _flush(done: TransformCallback): void {
    this.#writeOut(this.#base + this.#text.length);
    done(null, this.#takeOutput());
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

  /** Returns the new output, and drops text that no name can reach. */
  #takeOutput(): Buffer {
    const text = this.#parts.join('');
    this.#parts = [];
    const newBase = Math.max(this.#base, Math.min(this.#written, this.#base + this.#text.length - maxNameLength));
    this.#text = this.#text.slice(newBase - this.#base);
    this.#base = newBase;
    return Buffer.from(text, 'latin1');
  }

  /** A name in lower case; empty for names longer than any known one. */
  #name(from: number, to: number): string {
    return from < this.#base || to - from > maxNameLength ? '' : this.#slice(from, to).toLowerCase();
  }

  #slice(from: number, to: number): string {
    return this.#text.slice(from - this.#base, to - this.#base);
  }
}
