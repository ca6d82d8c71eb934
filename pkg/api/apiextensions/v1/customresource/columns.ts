/** Table columns of custom objects. Source: 1.24, …/pkg/registry/customresource/tableconvertor/tableconvertor.go. */

import { JsonPath, TooManyVisits, Visits } from '#api/apiextensions/v1/customresource/json-path.js';
import { canonical } from '#api/apiextensions/v1/customresource/list-items.js';
import type { CustomResourceColumnDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { ApiObjectShape, TableRowCells } from '#api/meta/object.js';
import { age } from '#api/table/age.js';
import type { ColumnDeclaration } from '#apimachinery/schema/schema.js';

export type Cells = (object: ApiObjectShape, now: number) => TableRowCells;

const nameColumn: ColumnDeclaration = { name: 'Name', type: 'string', format: 'name' };
const ageColumn: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
};

/** A version without columns gets the age column. */
function columnsOf(declared: readonly CustomResourceColumnDefinition[] | undefined) {
  return declared === undefined || declared.length === 0 ? [ageColumn] : declared;
}

export function columnDeclarations(
  declared: readonly CustomResourceColumnDefinition[] | undefined,
): ColumnDeclaration[] {
  const own = columnsOf(declared).map(({ name, type, format, priority, description = '', jsonPath }) => ({
    name,
    type: type as ColumnDeclaration['type'],
    ...(format === undefined ? {} : { format }),
    ...(priority === undefined ? {} : { priority }),
    description:
      description === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
  }));
  return [nameColumn, ...own];
}

export function cellsOf(given: readonly CustomResourceColumnDefinition[] | undefined): Cells {
  const columns = columnsOf(given).map(({ type, jsonPath }) => ({ type, path: new JsonPath(jsonPath) }));
  return (object, now) => {
    const visits = new Visits();
    let chars = 0;
    const cells = columns.map(({ type, path }) => {
      const cell = cellOf(type, path.first(object, visits), now);
      if (typeof cell === 'string') chars += cell.length;
      if (chars > maxRowChars) throw new RowTooLarge();
      return cell;
    });
    return [object.metadata.name ?? '', ...cells];
  };
}

/** Limit of the text of a row: many columns may show the same large part of an object. */
const maxRowChars = 1536 * 1024;

class RowTooLarge extends Error {
  constructor() {
    super(`the cells of a row have more than ${maxRowChars} characters`);
  }
}

/** True for errors of columns that evaluate or show too much of an object. */
export function isTooLargeForRow(error: unknown): boolean {
  return error instanceof RowTooLarge || error instanceof TooManyVisits;
}

/** Values of another type are not shown. */
function cellOf(type: string, value: unknown, now: number): string | number | bigint | boolean | null {
  if (value === undefined) return null;
  // Go's text for an explicit null.
  if (value === null) return type === 'string' ? '<no value>' : null;
  switch (type) {
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'string':
      return typeof value === 'object' ? canonical(value) : String(value);
    case 'date':
      if (typeof value !== 'string') return null;
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : age(value, now);
    default:
      return null;
  }
}
