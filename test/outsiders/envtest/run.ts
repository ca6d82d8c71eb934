/** Runs the suites that start envtest's programs, with this project's and with those of another implementation. */
import { access, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { root } from '#test/e2e/harness.js';
import {
  type DifferingTest,
  differingTests,
  failedPackages,
  type Results,
  type Totals,
  totalsOf,
  withSecondRun,
} from '#test/outsiders/envtest/differences.js';
import { readGoJson } from '#test/outsiders/envtest/go-json.js';
import { prepareModule } from '#test/outsiders/envtest/module.js';
import { withRow } from '#test/outsiders/envtest/page.js';
import { type EnvtestSuite, envtestSuites } from '#test/outsiders/envtest/suites.js';
import { linkPrograms } from '#test/outsiders/programs.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSuiteEnvironment, type SuiteEnvironment } from '#test/outsiders/suite-environment.js';

/** Time limit for starting and stopping; the default of 20 s is too short for loaded machines. */
const startTimeout = '120s';
/** Of each package; without it the tool ends them after ten minutes. */
const packageTimeout = '30m';

/** Suites by name, or by name and version (`controller-runtime@v0.12.3`); without names, all. */
export function selectSuites(names: readonly string[]): readonly EnvtestSuite[] {
  const matches = ({ name, version }: EnvtestSuite, wish: string) => wish === name || wish === `${name}@${version}`;
  for (const name of names) {
    if (!envtestSuites.some((suite) => matches(suite, name))) {
      const all = envtestSuites.map((suite) => `${suite.name}@${suite.version}`);
      throw new Error(`no suite ${name}; there are ${all.join(', ')}`);
    }
  }
  return envtestSuites.filter((suite) => names.length === 0 || names.some((name) => matches(suite, name)));
}

export interface EnvtestOptions {
  /** Another implementation's API server; undefined: no comparison. */
  readonly peerServer: string | undefined;
  /** The page whose table gets the results; undefined: none. */
  readonly page: string | undefined;
  /** A regular expression for names of tests; empty: all. */
  readonly focus: string;
}

/** Failures are differences without a reason in the table. */
export function runEnvtestSuite(suite: EnvtestSuite, options: EnvtestOptions): Promise<SuiteResult> {
  const name = `${suite.name}@${suite.version}`;
  return inSuiteEnvironment(name, async (environment) => {
    const module = await prepareModule(suite, environment.built);
    const own = join(root, 'bin', 'envtest');
    const test = (assets: string, kind: string) =>
      testTwice(suite, options.focus, { module, assets, kind, environment });
    const results = await test(own, 'own');
    const peer = options.peerServer === undefined ? undefined : await peerAssets(options.peerServer, environment);
    const peerResults = peer === undefined ? undefined : await test(peer, 'peer');
    const differing = differingTests(results, peerResults, suite.differs ?? []);
    const totals = totalsOf(results);
    const peerTotals = peerResults && totalsOf(peerResults);
    if (options.page !== undefined) {
      const cells = [describe(totals), peerTotals === undefined ? 'not run' : describe(peerTotals), countOf(differing)];
      const page = withRow(await readFile(options.page, 'utf8'), 'suites', [suite.name, suite.version.slice(1)], cells);
      await writeFile(options.page, page);
    }
    return {
      passed: totals.passed,
      skipped: totals.skipped,
      failures: differing
        .filter(({ reason }) => reason === '')
        .map(({ name, failsOn, message }) => ({
          name: `${name}${failsOn === 'own' ? '' : ' (only with the other implementation)'}`,
          reason: message,
        })),
      note: [
        ...(totals.failed === 0 ? [] : [`${totals.failed} failed`]),
        peerTotals === undefined ? 'not compared' : `the other implementation: ${describe(peerTotals)}`,
        ...differing.filter(({ reason }) => reason !== '').map(({ name, reason }) => `${name}: ${reason}`),
      ].join('; '),
    };
  });
}

const describe = ({ passed, failed, skipped }: Totals) =>
  [`${passed} passed`, `${failed} failed`, ...(skipped === 0 ? [] : [`${skipped} skipped`])].join(', ');

const countOf = (differing: readonly DifferingTest[]) => (differing.length === 0 ? 'none' : String(differing.length));

/** @returns A folder of envtest's programs; undefined: etcd is missing. */
async function peerAssets(server: string, { folder }: SuiteEnvironment): Promise<string | undefined> {
  const [etcd, kubectl] = await Promise.all(['etcd', 'kubectl'].map(onPath));
  if (etcd === undefined) return undefined;
  const assets = join(folder, 'peer');
  await linkPrograms(assets, { etcd, 'kube-apiserver': server, ...(kubectl === undefined ? {} : { kubectl }) });
  return assets;
}

async function onPath(program: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, program);
    const present = await access(path).then(
      () => true,
      () => false,
    );
    if (present) return path;
  }
  return undefined;
}

interface TestRun {
  readonly module: string;
  readonly assets: string;
  readonly kind: string;
  readonly environment: SuiteEnvironment;
}

/** Packages with failures run a second time: suites of controllers have tests that hold only at times. */
async function testTwice(suite: EnvtestSuite, focus: string, run: TestRun): Promise<Results> {
  const first = await testPackages(suite.packages, focus, run);
  const again = failedPackages(first);
  return again.length === 0 ? first : withSecondRun(first, await testPackages(again, focus, run, '-again'));
}

async function testPackages(
  packages: readonly string[],
  focus: string,
  { module, assets, kind, environment }: TestRun,
  suffix = '',
): Promise<Results> {
  const asset = (program: string) => join(assets, program);
  const env = {
    KUBEBUILDER_ASSETS: assets,
    KUBEBUILDER_CONTROLPLANE_START_TIMEOUT: startTimeout,
    KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT: startTimeout,
    // Suites that look for programs themselves.
    TEST_ASSET_ETCD: asset('etcd'),
    TEST_ASSET_KUBE_APISERVER: asset('kube-apiserver'),
    TEST_ASSET_KUBECTL: asset('kubectl'),
    GOFLAGS: '-mod=mod',
  };
  const only = focus === '' ? [] : ['-run', focus];
  const flags = ['-json', '-vet=off', '-count=1', '-p=1', `-timeout=${packageTimeout}`, '-ldflags=-checklinkname=0'];
  const log = environment.log.replace(/\.log$/, `.${kind}${suffix}.log`);
  return readGoJson(await runLogged('go', ['test', ...flags, ...only, ...packages], { env, cwd: module, log }));
}
