/** For tests of strategies: tables of rules, one case for each. */

import type { Strategy } from '#api/strategy/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  statusFailures,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

/** One rule: a change of the base object (dotted path, new value) and all failures that it makes, as `path: message`. */
export type RuleRow = readonly [path: string, value: unknown, ...failures: string[]];

/** What messages begin with, by the reason that their failures carry. */
const titles: Readonly<Record<string, string>> = {
  FieldValueDuplicate: 'Duplicate value',
  FieldValueForbidden: 'Forbidden',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotFound: 'Not found',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueRequired: 'Required value',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
};

/** The part of a test that tables need. */
export interface TableTest {
  strictSame(found: unknown, wanted: unknown, message: string): void;
}

/** Every row on a create of the base object, which itself must be good; also that reasons and messages agree. */
export function checkRules(
  t: TableTest,
  strategy: Strategy,
  base: Draft,
  rows: readonly RuleRow[],
  context = testContext,
): void {
  t.strictSame(createFailures(strategy, base, context), [], 'the base');
  for (const [path, value, ...failures] of rows) {
    const found = strategy.validateCreate?.(created(strategy, withField(base, path, value), context), context) ?? [];
    const name = `${path} = ${JSON.stringify(value)?.slice(0, 100)}`;
    t.strictSame(
      found.map(({ field, message }) => `${field}: ${message}`),
      failures,
      name,
    );
    const odd = found.filter(({ reason, message }) => !message.startsWith(titles[reason] ?? '?'));
    t.strictSame(odd, [], `${name}: reasons`);
  }
}

/** Every row as an update of the base object. */
export function checkUpdateRules(t: TableTest, strategy: Strategy, base: Draft, rows: readonly RuleRow[]): void {
  for (const [path, value, ...failures] of rows) {
    const stored = created(strategy, base) as unknown as Draft;
    const name = `update ${path} = ${JSON.stringify(value)?.slice(0, 100)}`;
    t.strictSame(updateFailures(strategy, base, withField(stored, path, value)), failures, name);
  }
}

/** Every row as a change of a good status: the path starts below `status`. */
export function checkStatusRules(
  t: TableTest,
  strategy: Strategy,
  { base, status = {} }: { readonly base: Draft; readonly status?: Draft },
  rows: readonly RuleRow[],
  context = testContext,
): void {
  for (const [path, value, ...failures] of rows) {
    const next = withField({ status }, `status.${path}`, value)['status'];
    const name = `status.${path} = ${JSON.stringify(value)?.slice(0, 100)}`;
    t.strictSame(statusFailures(strategy, base, { old: status, new: next }, context), failures, name);
  }
}
