/** Digests of the contents of documents, computed without building the documents. */
import { createHash } from 'node:crypto';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Number of digests computed between two pauses. */
const digestsOfStep = 16;

export class Digests {
  readonly #dialect: Dialect;
  readonly #scheme: Scheme;
  readonly #digests = new WeakMap<ServedResource, string>();
  #types = '';
  #ready: Promise<void> | undefined;

  constructor(scheme: Scheme) {
    this.#dialect = scheme.dialect;
    this.#scheme = scheme;
  }

  /** The digest of a document of these resources and other servers' parts. Equal in all servers of one build. */
  async document(
    resources: readonly ServedResource[],
    parts: readonly string[],
    turns: Pick<TurnQueue, 'pause'>,
  ): Promise<string> {
    const { name, version } = this.#dialect;
    const hash = createHash('sha256').update(`${name}\n${version}\n${this.#types}\n`);
    for (const [i, resource] of resources.entries()) {
      if (i % digestsOfStep === 0) await turns.pause();
      hash.update(`${this.#resource(resource)}\n`);
    }
    for (const part of parts) hash.update(`part ${part}\n`);
    return hash.digest('hex').toUpperCase();
  }

  /** The digest of one form of a document. */
  form(document: string, form: string): string {
    return digest(`${document} ${form}`);
  }

  #resource(resource: ServedResource): string {
    let cached = this.#digests.get(resource);
    if (cached === undefined) {
      const { edition, apiVersion, declaration } = resource;
      // Reading a custom kind's schema would parse it; its definition's generation suffices.
      cached = digest(edition === undefined ? JSON.stringify(declaration) : `${apiVersion} ${edition}`);
      this.#digests.set(resource, cached);
    }
    return cached;
  }

  /**
   * Await this before the first digest: it digests all types, since any changed field or description changes every document.
   */
  ready(turns: Pick<TurnQueue, 'pause'>): Promise<void> {
    this.#ready ??= this.#digestTypes(turns);
    return this.#ready;
  }

  async #digestTypes(turns: Pick<TurnQueue, 'pause'>): Promise<void> {
    const hash = createHash('sha256');
    for (const name of this.#scheme.typeNames()) {
      await turns.pause();
      const { doc, fields } = this.#scheme.type(name);
      hash.update(JSON.stringify([name, doc, fields.map((field) => ({ ...field, type: field.type?.name }))]));
    }
    this.#types = hash.digest('hex');
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').toUpperCase();
}
