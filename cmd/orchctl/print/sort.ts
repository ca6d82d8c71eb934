/** `--sort-by`: the order of objects by the value of a field, as kubectl compares values. Pure. */
import { compareQuantities, isQuantity } from '#apimachinery/quantity.js';
import { JsonPath, relaxedPath } from '#cmd/orchctl/print/jsonpath/evaluate.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** The items in the order of the field; those without it are first. Throws a CommandError if no item has it. */
export function sortedBy<T>(items: readonly T[], field: string, objectOf: (item: T) => unknown): T[] {
  const expression = relaxedPath(field);
  const path = new JsonPath(expression, { allowMissing: true });
  const keyed = items.map((item) => ({ item, value: path.results(objectOf(item))[0]?.[0] }));
  if (items.length > 0 && keyed.every(({ value }) => value === undefined)) {
    throw new CommandError(`couldn't find any field with path ${JSON.stringify(expression)} in the list of objects`);
  }
  return keyed.sort((a, b) => compare(a.value, b.value)).map(({ item }) => item);
}

function compare(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (typeof a === 'string' && typeof b === 'string') {
    return isQuantity(a) && isQuantity(b) ? compareQuantities(a, b) : natural(a, b);
  }
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  throw new CommandError(`unsortable type: ${Array.isArray(a) ? '[]interface {}' : typeof a}`);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Runs of digits count as numbers. */
function natural(a: string, b: string): number {
  const parts = (text: string): readonly string[] => text.match(/\d+|\D+/g) ?? [];
  const [left, right] = [parts(a), parts(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const [x = '', y = ''] = [left[i], right[i]];
    if (x === y) continue;
    const bothNumbers = /^\d/.test(x) && /^\d/.test(y);
    const difference = bothNumbers ? Number(BigInt(x) - BigInt(y)) : 0;
    return difference !== 0 ? difference : x < y ? -1 : 1;
  }
  return left.length - right.length;
}
