/** What the suites of others run in. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '#test/e2e/harness.js';
import { Ends } from '#test/outsiders/ends.js';
import type { SuiteResult } from '#test/outsiders/report.js';

export interface Surroundings {
  /** Where hack/build-outsiders.sh builds suites. */
  readonly built: string;
  /** Goes with all of it in the end. */
  readonly folder: string;
  readonly ends: Ends;
  /** What the suite prints is also kept here. */
  readonly log: string;
}

/** Runs a suite in a folder of its own. */
export async function inSurroundings(
  suite: string,
  runSuite: (surroundings: Surroundings) => Promise<Omit<SuiteResult, 'suite'>>,
): Promise<SuiteResult> {
  const ends = new Ends();
  const built = process.env['OUT'] ?? join(root, '.tools', 'outsiders');
  try {
    const folder = await mkdtemp(join(tmpdir(), 'outsiders-'));
    ends.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
    return { suite, ...(await runSuite({ built, folder, ends, log: join(built, `${suite}.log`) })) };
  } finally {
    await ends.end();
  }
}
