/** `explain`: the fields of a kind, from the server's OpenAPI document. */
import type { DocumentSchema, OpenAPIDocument } from '#cmd/orchctl/api/open-api.js';
import { apiVersionOf, type ResourceCatalog, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { wrapped } from '#cmd/orchctl/print/wrap.js';
import { CommandError, PlainError } from '#cmd/orchctl/terminal/errors.js';

export const explain: Command = {
  name: 'explain',
  usage: 'TYPE[.FIELD…]',
  summary: 'Describe the fields of a kind',
  examples: ['orchctl explain pods', 'orchctl explain pods.spec.containers', 'orchctl explain deployment --recursive'],
  completes: 'types',
  options: {
    recursive: { type: 'bool', section: 'Output', meaning: 'Show the names of all fields below.' },
    'api-version': { type: 'string', section: 'Selection', meaning: 'API version of the kind, such as apps/v1.' },
  },
  async run({ api, args, out, values }) {
    const [first, more] = args;
    if (first === undefined) {
      throw new CommandError(
        'You must specify the type of resource to explain. Use "orchctl api-resources" for a complete list of supported resources.\n',
      );
    }
    if (more !== undefined) throw new CommandError('We accept only this format: explain RESOURCE\n');
    const { resource, fields } = find(await api.catalog(), first, values.string('api-version') ?? '');
    const document = await api.openAPI();
    const definition = definitionOf(document, resource);
    if (definition === undefined) {
      const { group, version, kind } = resource;
      const place = group === '' ? `/${version}` : `${group}/${version}`;
      throw new CommandError(`couldn't find resource for "${place}, Kind=${kind}"`);
    }
    out.write(new Explanation(document, resource).text(definition, fields, values.bool('recursive')));
    return 0;
  },
};

/** The type and the fields of `deployments.apps.spec.template`. */
function find(
  catalog: ResourceCatalog,
  text: string,
  apiVersion: string,
): { resource: ServedResource; fields: readonly string[] } {
  const parts = text.replace(/\.$/, '').split('.');
  const [type = ''] = parts;
  const resource = typed(() => catalog.one(type));
  // A group between the type and its fields.
  const full = `${resource.resource}.${resource.group}`;
  const hasGroup = resource.group !== '' && (text === full || text.startsWith(`${full}.`));
  const fields = hasGroup ? text.slice(full.length).split('.').slice(1) : parts.slice(1);
  if (apiVersion === '') return { resource, fields };
  const versioned = catalog.all.find((each) => apiVersionOf(each) === apiVersion && each.kind === resource.kind);
  if (versioned !== undefined) return { resource: versioned, fields };
  const slash = apiVersion.indexOf('/');
  const [group, version] = slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  return { resource: { ...resource, group, version }, fields };
}

/** Without the prefix of errors, as 1.24 says it here. */
function typed<T>(find: () => T): T {
  try {
    return find();
  } catch (error) {
    throw error instanceof CommandError ? new PlainError(error.message) : error;
  }
}

function definitionOf({ definitions = {} }: OpenAPIDocument, resource: ServedResource): DocumentSchema | undefined {
  return Object.values(definitions).find((schema) => {
    const extension = Object.entries(schema).find(([key]) => /^x-\w+-group-version-kind$/.test(key));
    const kinds = (extension?.[1] ?? []) as readonly { group?: string; version?: string; kind?: string }[];
    return kinds.some(
      ({ group = '', version, kind }) =>
        group === resource.group && version === resource.version && kind === resource.kind,
    );
  });
}

interface Described extends DocumentSchema {
  readonly description?: string;
}

const width = 80;

class Explanation {
  readonly #document: OpenAPIDocument;
  readonly #resource: ServedResource;

  constructor(document: OpenAPIDocument, resource: ServedResource) {
    this.#document = document;
    this.#resource = resource;
  }

  text(definition: DocumentSchema, fields: readonly string[], recursive: boolean): string {
    let schema: Described = definition;
    for (const field of fields) schema = this.#field(schema, field);
    const { kind } = this.#resource;
    const head = `KIND:     ${kind}\nVERSION:  ${apiVersionOf(this.#resource)}\n\n`;
    const { target, descriptions } = this.#end(schema);
    const name = fields.at(-1);
    const type = this.#typeName(schema);
    const description = this.#descriptionText([...descriptions, target.description ?? '']);
    if (target.properties === undefined) {
      const isArbitrary = target.type === undefined;
      return `${head}${isArbitrary ? '' : `FIELD:    ${name ?? ''} <${type}>\n\n`}${description}`;
    }
    const title = name === undefined ? '' : `RESOURCE: ${name} <${type}>\n\n`;
    const list = recursive ? this.#names(target, 3, new Set()) : this.#fields(target);
    return `${head}${title}${description}\nFIELDS:\n${list}`;
  }

  #resolve(schema: Described): Described {
    if (typeof schema.$ref !== 'string') return schema;
    const name = schema.$ref.slice('#/definitions/'.length);
    return this.#document.definitions?.[name] ?? {};
  }

  /** The schema behind references, lists and maps, with the descriptions on the way. */
  #end(schema: Described): { target: Described; descriptions: string[] } {
    const descriptions: string[] = [];
    let current = schema;
    for (;;) {
      const next = nextOf(current) ?? (typeof current.$ref === 'string' ? this.#resolve(current) : undefined);
      if (next === undefined) return { target: current, descriptions };
      descriptions.push(current.description ?? '');
      current = next;
    }
  }

  #field(schema: Described, field: string): Described {
    const { target } = this.#end(schema);
    const next = target.properties?.[field];
    if (next === undefined) throw new CommandError(`field ${JSON.stringify(field)} does not exist`);
    return next;
  }

  #typeName(schema: Described): string {
    const resolved = this.#resolve(schema);
    if (resolved.type === 'array') return `[]${this.#typeName(resolved.items ?? {})}`;
    if (resolved.properties !== undefined) return 'Object';
    if (resolved.type === 'object') {
      const element = resolved.additionalProperties;
      return `map[string]${typeof element === 'object' ? this.#typeName(element) : ''}`;
    }
    return resolved.type === undefined ? '' : String(resolved.type);
  }

  #descriptionText(descriptions: readonly string[]): string {
    const parts: string[] = [];
    descriptions.forEach((text, index) => {
      if (text === '') return;
      parts.push(
        index === 0 ? '' : '\n',
        ...wrapped(text, width - 5).map((line) => (line === '' ? '\n' : `     ${line}\n`)),
      );
    });
    return `DESCRIPTION:\n${parts.join('') || '     <empty>\n'}`;
  }

  #fields({ properties = {}, required = [] }: Described): string {
    return Object.keys(properties)
      .sort()
      .map((name) => {
        const schema: Described = properties[name] ?? {};
        const mark = required.includes(name) ? ' -required-' : '';
        const lines = wrapped(schema.description ?? '', width - 5).map((line) =>
          line === '' ? '\n' : `     ${line}\n`,
        );
        return `   ${name}\t<${this.#typeName(schema)}>${mark}\n${lines.join('')}\n`;
      })
      .join('');
  }

  /** Definitions that contain themselves are shown once. */
  #names(schema: Described, indent: number, open: Set<string>): string {
    const reference = typeof schema.$ref === 'string' ? schema.$ref : undefined;
    if (reference !== undefined) {
      if (open.has(reference)) return '';
      const text = this.#names(this.#resolve(schema), indent, new Set([...open, reference]));
      return text;
    }
    const next = nextOf(schema);
    if (next !== undefined) return this.#names(next, indent, open);
    const { properties = {} } = schema;
    return Object.keys(properties)
      .sort()
      .map((name) => {
        const field = properties[name] ?? {};
        return `${' '.repeat(indent)}${name}\t<${this.#typeName(field)}>\n${this.#names(field, indent + 3, open)}`;
      })
      .join('');
  }
}

/** Elements of a list or map. */
function nextOf({ additionalProperties, items, properties, type }: Described): Described | undefined {
  if (type === 'array') return items ?? {};
  if (type === 'object' && properties === undefined && typeof additionalProperties === 'object')
    return additionalProperties;
  return undefined;
}
