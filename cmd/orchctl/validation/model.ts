/**
 * Models of kinds from a server's OpenAPI v2 document, as kubectl 1.24 reads them (kube-openapi, pkg/util/proto).
 */
import type { DocumentSchema, OpenAPIDocument } from '#cmd/orchctl/api/open-api.js';

/** `path`: the definition and the member in it, for messages. */
export type Model =
  | {
      readonly type: 'kind';
      readonly path: string;
      readonly fields: ReadonlyMap<string, () => Model>;
      readonly required: readonly string[];
    }
  | { readonly type: 'map'; readonly path: string; readonly element: () => Model }
  | { readonly type: 'array'; readonly path: string; readonly element: () => Model }
  | { readonly type: 'primitive'; readonly path: string; readonly primitive: string }
  | { readonly type: 'arbitrary' };

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const definitionPrefix = '#/definitions/';
const arbitrary: Model = { type: 'arbitrary' };

export class ModelSource {
  readonly #document: OpenAPIDocument;
  /** Name of the extension with the kind of a definition or operation; differs by dialect. */
  readonly #kindExtension: `x-${string}`;

  constructor(document: OpenAPIDocument, kindExtension: `x-${string}`) {
    this.#document = document;
    this.#kindExtension = kindExtension;
  }

  /** Undefined for kinds that the document does not describe; their objects cannot be validated. */
  modelOf(kind: GroupVersionKind): Model | undefined {
    for (const [name, schema] of Object.entries(this.#document.definitions ?? {})) {
      if (kindsOf(schema[this.#kindExtension]).some((each) => isSame(each, kind))) return this.#model(schema, name);
    }
    return undefined;
  }

  /** Whether patches of the kind have the parameter; undefined if the kind has no patch. */
  takes(parameter: string, kind: GroupVersionKind): boolean | undefined {
    for (const operations of Object.values(this.#document.paths ?? {})) {
      const { patch } = operations;
      if (patch === undefined || !kindsOf(patch[this.#kindExtension]).some((each) => isSame(each, kind))) continue;
      return patch.parameters?.some(({ name, in: place }) => name === parameter && place === 'query') ?? false;
    }
    return undefined;
  }

  #model(schema: DocumentSchema, path: string): Model {
    if (typeof schema.$ref === 'string') {
      const name = schema.$ref.slice(definitionPrefix.length);
      const { definitions = {} } = this.#document;
      const target = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
      return target === undefined ? arbitrary : this.#model(target, name);
    }
    const { additionalProperties, items, properties, type } = schema;
    if (type === undefined || type === 'object') {
      if (properties !== undefined) return this.#kind(properties, schema.required ?? [], path);
      if (type === undefined) return arbitrary;
      const element = typeof additionalProperties === 'object' ? additionalProperties : undefined;
      return { type: 'map', path, element: () => (element === undefined ? arbitrary : this.#model(element, path)) };
    }
    if (type === 'array') {
      return { type: 'array', path, element: () => (items === undefined ? arbitrary : this.#model(items, path)) };
    }
    return { type: 'primitive', path, primitive: String(type) };
  }

  #kind(properties: Readonly<Record<string, DocumentSchema>>, required: readonly string[], path: string): Model {
    const fields = Object.entries(properties).map(
      ([name, field]) => [name, () => this.#model(field, `${path}.${name}`)] as const,
    );
    return { type: 'kind', path, fields: new Map(fields), required };
  }
}

function kindsOf(extension: unknown): readonly Partial<GroupVersionKind>[] {
  const all: readonly unknown[] = Array.isArray(extension) ? extension : [extension];
  return all.filter((each): each is Partial<GroupVersionKind> => typeof each === 'object' && each !== null);
}

function isSame({ group = '', version, kind }: Partial<GroupVersionKind>, other: GroupVersionKind): boolean {
  return group === other.group && version === other.version && kind === other.kind;
}
