/** Digests of what documents are made of, so that telling of a document takes none. */
import { createHash } from 'node:crypto';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export class Digests {
  readonly #dialect: Dialect;
  readonly #scheme: Scheme;
  readonly #known = new WeakMap<ServedResource, string>();
  #types: string | undefined;

  constructor(scheme: Scheme) {
    this.#dialect = scheme.dialect;
    this.#scheme = scheme;
  }

  /** Of a document of these resources and of others' parts. The same in every server of that build. */
  document(resources: readonly ServedResource[], parts: readonly string[]): string {
    const { name, version } = this.#dialect;
    const hash = createHash('sha256').update(`${name}\n${version}\n${this.#ofTypes()}\n`);
    for (const resource of resources) hash.update(`${this.#resource(resource)}\n`);
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

  /** A field or a description that differs from one build to the next makes every document another one. */
  #ofTypes(): string {
    this.#types ??= digest(
      JSON.stringify(
        this.#scheme.typeNames().map((name) => {
          const { doc, fields } = this.#scheme.type(name);
          return [name, doc, fields.map((field) => ({ ...field, type: field.type?.name }))];
        }),
      ),
    );
    return this.#types;
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').toUpperCase();
}
