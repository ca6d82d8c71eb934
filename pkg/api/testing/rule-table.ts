/** Table tests of strategy rules. */

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

/** A rule: a change of the base object (dotted path, new value) and all resulting failures, as `path: message`. */
export type RuleRow = readonly [path: string, value: unknown, ...failures: string[]];

/** Beginnings of messages by failure reason. */
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

/** The assertions that tables need. */
export interface TableTest {
  strictSame(actual: unknown, expected: unknown, message: string): void;
}

/**
 * Creates the base object, which must be valid, with each row's change; also checks that reasons and messages agree.
 */
export function checkRules(
  t: TableTest,
  strategy: Strategy,
  base: Draft,
  rows: readonly RuleRow[],
  context = testContext,
): void {
  t.strictSame(createFailures(strategy, base, context), [], 'the base');
  for (const [path, value, ...failures] of rows) {
    const object = created(strategy, withField(base, path, value), context);
    const reported = strategy.validateCreate?.(object, context) ?? [];
    const name = `${path} = ${JSON.stringify(value)?.slice(0, 100)}`;
    t.strictSame(
      reported.map(({ field, message }) => `${field}: ${message}`),
      failures,
      name,
    );
    const odd = reported.filter(({ reason, message }) => !message.startsWith(titles[reason] ?? '?'));
    t.strictSame(odd, [], `${name}: reasons`);
  }
}

/** Updates the base object with each row's change. */
export function checkUpdateRules(t: TableTest, strategy: Strategy, base: Draft, rows: readonly RuleRow[]): void {
  for (const [path, value, ...failures] of rows) {
    const stored = created(strategy, base) as unknown as Draft;
    const name = `update ${path} = ${JSON.stringify(value)?.slice(0, 100)}`;
    t.strictSame(updateFailures(strategy, base, withField(stored, path, value)), failures, name);
  }
}

/** Updates a valid status with each row's change: the path starts below `status`. */
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
