/** Tables: objects as rows of cells, what command-line clients print (specification 1, 2.6). */

import type { ApiObjectShape } from '#api/meta/object.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ColumnDeclaration } from '#apimachinery/schema/schema.js';
import type { Transform } from '#apiserver/http/media-type.js';
import { columnText } from '#apiserver/representation/column-text.js';
import { partialJson } from '#apiserver/representation/partial.js';
import { jsonOf, objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

const defaultColumns: readonly ColumnDeclaration[] = [
  { name: 'Name', type: 'string', format: 'name' },
  { name: 'Created At', type: 'date' },
];

/** What rows carry of their objects. Throws 400 for an unknown policy. */
export function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const why = `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw badRequest(`Unable to convert to Table as requested: ${why}`);
}

/** Column definitions as they stand in a Table. */
function columnDefinitions(resource: ServedResource): object[] {
  const columns = resource.strategy.cells === undefined ? defaultColumns : resource.declaration.columns;
  return (columns ?? defaultColumns).map((column) => ({
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? columnText(resource.type, column.name),
    priority: column.priority ?? 0,
  }));
}

function cellsOf(resource: ServedResource, object: ApiObjectShape, context: StrategyContext): unknown[] {
  if (resource.strategy.cells !== undefined && resource.declaration.columns !== undefined) {
    return resource.strategy.cells(object, context);
  }
  return [object.metadata.name ?? '', object.metadata.creationTimestamp ?? ''];
}

export interface RowOptions {
  readonly transform: Transform;
  readonly include: IncludeObject;
  readonly context: StrategyContext;
}

/** One row's JSON. Not kept: ages change. */
export function rowJson(resource: ServedResource, given: Entry, options: RowOptions): Buffer {
  return given.once((entry) => row(resource, entry, options));
}

function row(resource: ServedResource, entry: Entry, options: RowOptions): Buffer {
  const cells = toJSONText(cellsOf(resource, objectOf(resource, entry), options.context));
  if (options.include === 'None') return Buffer.from(`{"cells":${cells},"object":null}`);
  const object =
    options.include === 'Object' ? jsonOf(resource, entry) : partialJson(resource, entry, options.transform);
  return Buffer.concat([Buffer.from(`{"cells":${cells},"object":`), object, closing]);
}

const closing = Buffer.from('}');

/** What stands before a Table's rows. */
export function tableMembers(resource: ServedResource, transform: Transform, metadata: object, headers = true) {
  return {
    kind: 'Table',
    apiVersion: `${transform.group}/${transform.version}`,
    metadata,
    columnDefinitions: headers ? columnDefinitions(resource) : null,
  };
}

/** The same as text, up to the rows: `{"kind":"Table",…,"rows":[`. */
export function tableHead(resource: ServedResource, transform: Transform, metadata: object, headers = true): string {
  return `${toJSONText(tableMembers(resource, transform, metadata, headers)).slice(0, -1)},"rows":[`;
}
