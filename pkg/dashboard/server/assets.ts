/** The dashboard's files, which the build has bundled for browsers. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  /** In gzip. */
  readonly compressed: Buffer;
  readonly etag: string;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const page = 'index.html';

/** Beside the folder of a program's bundle or of its chunks, or of compiled files. */
const folders = [join(import.meta.dirname, '../dashboard'), join(import.meta.dirname, '../../../bundle/dashboard')];

export class Assets {
  readonly #folder: string;
  /** A name that is not in here is never read. */
  readonly #names: ReadonlySet<string>;
  readonly #loaded = new Map<string, Asset>();

  /** Throws an Error if the dashboard has not been built. */
  constructor(folder = folders.find((each) => existsSync(join(each, page)))) {
    if (folder === undefined) throw new Error('the dashboard is not built: run hack/build.sh');
    this.#folder = folder;
    this.#names = new Set(readdirSync(folder).filter((name) => extname(name) in types));
  }

  /** For a path below `/ui`: a file of `assets/`, else the page, which every address of the dashboard shows. */
  find(path: string): Asset | undefined {
    const [, below = ''] = /^\/ui\/assets\/(.*)$/.exec(path) ?? [];
    if (below !== '') return this.#names.has(below) ? this.#load(below) : undefined;
    return path === '/ui' || path.startsWith('/ui/') ? this.#load(page) : undefined;
  }

  #load(name: string): Asset {
    const held = this.#loaded.get(name);
    if (held !== undefined) return held;
    const body = readFileSync(join(this.#folder, name));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const asset = { type: types[extname(name)] ?? '', body, compressed: gzipSync(body), etag };
    this.#loaded.set(name, asset);
    return asset;
  }
}
