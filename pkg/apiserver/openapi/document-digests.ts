/** Digests of what documents are made of, so that telling of a document takes none. */
import { createHash } from 'node:crypto';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

/** Those that are taken between two looks at the time. */
const digestsOfStep = 16;

export class Digests {
  readonly #dialect: Dialect;
  readonly #scheme: Scheme;
  readonly #known = new WeakMap<ServedResource, string>();
  #types = '';
  #ready: Promise<void> | undefined;

  constructor(scheme: Scheme) {
    this.#dialect = scheme.dialect;
    this.#scheme = scheme;
  }

  /** Of a document of these resources and of others' parts. The same in every server of that build. */
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

  /** Of one form of a document with that digest. */
  form(document: string, form: string): string {
    return digest(`${document} ${form}`);
  }

  #resource(resource: ServedResource): string {
    let known = this.#known.get(resource);
    if (known === undefined) {
      const { edition, apiVersion, declaration } = resource;
      // Whoever looks into the schema of a custom kind has it parsed; its definition's generation says as much.
      known = digest(edition === undefined ? JSON.stringify(declaration) : `${apiVersion} ${edition}`);
      this.#known.set(resource, known);
    }
    return known;
  }

  /**
   * To be awaited before the first digest: a field or a description that differs from one build to the next makes every
   * document another one, and there are many.
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
