/** Options of `orch test` for faults, and for the report at the end of a suite. */
import { readFileSync } from 'node:fs';
import { messageOf } from '#apimachinery/errors/message.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { parseFaultPlan } from '#testcluster/faults/rules.js';
import type { TestClusterOptions } from '#testcluster/start-test-cluster.js';

export const faultOptions = {
  faults: {
    type: 'string',
    section: 'Faults',
    meaning: 'File of rules, YAML or JSON, by which the API answers with errors, late, or not at all.',
  },
} as const satisfies OptionTable;

export const reportOptions = {
  'fail-on': {
    type: 'strings',
    section: 'Report',
    meaning:
      'Exit with code 1 if the report at the end has findings of these categories, such as hot-loops,leftovers; all: of any.',
  },
  report: { type: 'string', section: 'Report', meaning: 'File for the report at the end, as JSON.' },
} as const satisfies OptionTable;

/** Reads and checks the file. Throws OptionsError. */
export function faultsOf({
  faults: path,
}: {
  readonly faults?: string | undefined;
}): Pick<TestClusterOptions, 'faultPlan'> {
  if (path === undefined || path === '') return {};
  try {
    const faultPlan = readFileSync(path, 'utf8');
    parseFaultPlan(faultPlan);
    return { faultPlan };
  } catch (error) {
    throw new OptionsError([`--faults: ${path}: ${messageOf(error)}`]);
  }
}
