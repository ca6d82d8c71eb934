/**
 * Extracts the paths of one version from another server's OpenAPI document (2.0), and the definitions that they need, in the
 * shape of this server's own documents. Pure.
 */
import { type RemoteService, rootOf } from '#apiserver/aggregation/remote-service.js';
import { isKindsExtension } from '#apiserver/openapi/aggregated-documents.js';
import type {
  OperationDocument,
  ParameterDocument,
  PathDocument,
  SchemaDocument,
} from '#apiserver/openapi/document-types.js';

export interface ForeignDocument {
  readonly paths: Readonly<Record<string, PathDocument>>;
  readonly definitions: Readonly<Record<string, SchemaDocument>>;
}

type Json = Readonly<Record<string, unknown>>;

/** Limit of nested schemas. */
const maxDepth = 64;
const methods = ['get', 'put', 'post', 'delete', 'patch'] as const;
const definitionRef = '#/definitions/';
const parameterRef = '#/parameters/';

/** Throws an Error for an invalid document. */
export function foreignDocument(value: unknown, remote: Pick<RemoteService, 'group' | 'version'>): ForeignDocument {
  const document = objectOf(value, 'the document');
  if (document['swagger'] !== '2.0') throw new Error('the document is not one of OpenAPI 2.0');
  const root = rootOf(remote);
  const reader = new Reader(document, remote);
  const paths: Record<string, PathDocument> = {};
  for (const [path, item] of Object.entries(objectOf(document['paths'] ?? {}, 'paths'))) {
    if (path === root || path.startsWith(`${root}/`)) paths[path] = reader.path(item);
  }
  return { paths, definitions: reader.definitions() };
}

class Reader {
  readonly #remote: Pick<RemoteService, 'group' | 'version'>;
  readonly #definitions: Json;
  readonly #parameters: Json;
  readonly #extracted = new Map<string, SchemaDocument>();
  readonly #referenced: string[] = [];

  constructor(document: Json, remote: Pick<RemoteService, 'group' | 'version'>) {
    this.#remote = remote;
    this.#definitions = objectOf(document['definitions'] ?? {}, 'definitions');
    this.#parameters = objectOf(document['parameters'] ?? {}, 'parameters');
  }

  path(value: unknown): PathDocument {
    const item = objectOf(value, 'a path');
    const path: PathDocument = {};
    for (const method of methods) if (item[method] !== undefined) path[method] = this.#operation(item[method]);
    if (item['parameters'] !== undefined) path['parameters'] = this.#parametersOf(item['parameters']);
    return path;
  }

  /** The referenced definitions, transitively. */
  definitions(): Record<string, SchemaDocument> {
    for (let name = this.#referenced.pop(); name !== undefined; name = this.#referenced.pop()) {
      if (this.#extracted.has(name) || !Object.hasOwn(this.#definitions, name)) continue;
      this.#extracted.set(name, this.#ownKinds(this.#schema(this.#definitions[name])));
    }
    return Object.fromEntries(this.#extracted);
  }

  /** Removes kinds of other versions from the extension by which clients look definitions up. */
  #ownKinds(schema: SchemaDocument): SchemaDocument {
    const own = { ...schema };
    for (const [name, kinds] of Object.entries(schema)) {
      if (!isKindsExtension(name)) continue;
      const { group, version } = this.#remote;
      const kept = (Array.isArray(kinds) ? (kinds as readonly unknown[]) : []).filter((each) => {
        const kind = each as Json | null;
        return kind?.['group'] === group && kind['version'] === version;
      });
      if (kept.length > 0) own[name as `x-${string}`] = kept;
      else delete own[name as `x-${string}`];
    }
    return own;
  }

  #operation(value: unknown): OperationDocument {
    const operation = objectOf(value, 'an operation');
    const responses: Record<string, object> = {};
    for (const [code, response] of Object.entries(objectOf(operation['responses'] ?? {}, 'responses'))) {
      const { description, schema } = objectOf(response, 'a response');
      responses[code] = {
        description: stringOf(description) ?? '',
        ...(schema === undefined ? {} : { schema: this.#schema(schema) }),
      };
    }
    return {
      description: stringOf(operation['description']) ?? '',
      operationId: stringOf(operation['operationId']) ?? '',
      tags: stringsOf(operation['tags']),
      consumes: stringsOf(operation['consumes']),
      produces: stringsOf(operation['produces']),
      parameters: this.#parametersOf(operation['parameters'] ?? []),
      responses,
      ...extensionsOf(operation),
    };
  }

  #parametersOf(value: unknown): ParameterDocument[] {
    return listOf(value).flatMap((each) => {
      let parameter = objectOf(each, 'a parameter');
      const ref = stringOf(parameter['$ref']);
      if (ref?.startsWith(parameterRef) === true) {
        parameter = objectOf(this.#parameters[unescaped(ref.slice(parameterRef.length))] ?? {}, 'a parameter');
      }
      const { name, in: place } = parameter;
      if (typeof name !== 'string' || (place !== 'query' && place !== 'path' && place !== 'body')) return [];
      const type = stringOf(parameter['type']);
      const description = stringOf(parameter['description']);
      return [
        {
          name,
          in: place,
          ...(description === undefined ? {} : { description }),
          ...(parameter['required'] === true ? { required: true } : {}),
          ...(parameter['uniqueItems'] === true ? { uniqueItems: true } : {}),
          ...(type === undefined || place === 'body' ? {} : { type }),
          ...(place === 'body' && parameter['schema'] !== undefined
            ? { schema: this.#schema(parameter['schema']) }
            : {}),
        },
      ];
    });
  }

  #schema(value: unknown, depth = 0): SchemaDocument {
    if (depth > maxDepth) throw new Error(`schemas are nested more than ${maxDepth} times`);
    const schema = objectOf(value, 'a schema');
    const below = (each: unknown) => this.#schema(each, depth + 1);
    const result: SchemaDocument = { ...extensionsOf(schema) };
    const ref = stringOf(schema['$ref']);
    if (ref?.startsWith(definitionRef) === true) {
      result.$ref = ref;
      this.#referenced.push(unescaped(ref.slice(definitionRef.length)));
    }
    for (const name of ['type', 'format', 'description'] as const) {
      const text = stringOf(schema[name]);
      if (text !== undefined) result[name] = text;
    }
    if (schema['default'] !== undefined) result.default = schema['default'];
    if (Array.isArray(schema['enum'])) result.enum = schema['enum'];
    const required = stringsOf(schema['required']);
    if (required.length > 0) result.required = required;
    if (schema['items'] !== undefined) result.items = below(schema['items']);
    const { additionalProperties: more, properties, allOf } = schema;
    if (more !== undefined) result.additionalProperties = typeof more === 'boolean' ? more : below(more);
    if (properties !== undefined) {
      const entries = Object.entries(objectOf(properties, 'properties'));
      result.properties = Object.fromEntries(entries.map(([name, each]) => [name, below(each)]));
    }
    if (allOf !== undefined) result.allOf = listOf(allOf).map(below);
    return result;
  }
}

function objectOf(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new Error(`${what} is not an object`);
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error('expected a list');
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

function extensionsOf(source: Json): Record<`x-${string}`, unknown> {
  return Object.fromEntries(Object.entries(source).filter(([name]) => name.startsWith('x-')));
}

/** Unescapes a part of a JSON pointer (RFC 6901). */
function unescaped(pointer: string): string {
  return pointer.replaceAll('~1', '/').replaceAll('~0', '~');
}
