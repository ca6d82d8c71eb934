/** The environment of external suites. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '#test/e2e/harness.js';
import { Cleanup } from '#test/outsiders/cleanup.js';
import type { SuiteResult } from '#test/outsiders/report.js';

export interface SuiteEnvironment {
  /** Where hack/build-outsiders.sh builds suites. */
  readonly built: string;
  /** A temporary folder, removed at the end. */
  readonly folder: string;
  readonly cleanup: Cleanup;
  /** Log file of the suite's output. */
  readonly log: string;
}

/** Runs a suite in a temporary folder. */
export async function inSuiteEnvironment(
  suite: string,
  runSuite: (environment: SuiteEnvironment) => Promise<Omit<SuiteResult, 'suite'>>,
): Promise<SuiteResult> {
  const cleanup = new Cleanup();
  const built = process.env['OUT'] ?? join(root, '.tools', 'outsiders');
  try {
    const folder = await mkdtemp(join(tmpdir(), 'outsiders-'));
    cleanup.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
    return { suite, ...(await runSuite({ built, folder, cleanup, log: join(built, `${suite}.log`) })) };
  } finally {
    await cleanup.end();
  }
}
