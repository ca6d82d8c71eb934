/** Runs the named external suites and prints their results; see `hack/outsiders.sh`. */
import { kubectls } from '#test/e2e/harness.js';
import { peer } from '#test/integration/peers/implementations.js';
import { recordsIn } from '#test/outsiders/bundles/records.js';
import { runBundles } from '#test/outsiders/bundles/suite.js';
import { runEnvtestSuite, selectSuites } from '#test/outsiders/envtest/run.js';
import { formatReport, type SuiteResult } from '#test/outsiders/report.js';
import { apiextensions } from '#test/outsiders/suites/apiextensions.js';
import { conformance } from '#test/outsiders/suites/conformance.js';
import { kubectlScript } from '#test/outsiders/suites/kubectl.js';

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function bundles(folder: string | undefined, only: readonly string[]): Promise<SuiteResult> {
  if (folder === undefined) throw new Error('bundles: no folder');
  const kubectl = process.env['KUBECTL'] ?? (await kubectls()).at(-1);
  if (kubectl === undefined)
    return { suite: 'bundles', passed: 0, failures: [], skipped: 0, note: 'kubectl is missing' };
  return runBundles(folder, only, {
    kubectl,
    peer: peer('PEER_APISERVER'),
    objects: process.env['OBJECTS'] === '1',
    recorded: recordsIn(process.env['PEER_RECORDS']),
    say,
  });
}

const focus = process.env['FOCUS'] ?? '';

async function envtest(names: readonly string[]): Promise<readonly SuiteResult[]> {
  const results: SuiteResult[] = [];
  const options = { peerServer: peer('PEER_APISERVER')?.[0], page: process.env['PAGE'], focus };
  for (const suite of selectSuites(names)) {
    const result = await runEnvtestSuite(suite, options).catch((error: unknown): SuiteResult => {
      const reason = error instanceof Error ? error.message : String(error);
      return { suite: `${suite.name}@${suite.version}`, passed: 0, skipped: 0, failures: [{ name: 'build', reason }] };
    });
    say(formatReport([result]));
    results.push(result);
  }
  return results;
}
const suites: Readonly<Record<string, () => Promise<SuiteResult>>> = {
  apiextensions: () => apiextensions(focus),
  conformance: () => conformance(focus),
  kubectl: () => kubectlScript((process.env['WHAT'] ?? '').split(' ').filter((group) => group !== '')),
};

// Exiting also ends the running suite's processes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [first, ...more] = process.argv.slice(2);
const names = first === undefined ? Object.keys(suites) : [first, ...more];
const results: SuiteResult[] = [];
if (first === 'bundles') results.push(await bundles(more[0], more.slice(1)));
else if (first === 'envtest') results.push(...(await envtest(more)));
else {
  for (const name of names) {
    const suite = suites[name];
    if (suite === undefined) throw new Error(`no suite ${name}; there are bundles, ${Object.keys(suites).join(', ')}`);
    results.push(await suite());
  }
}
say(formatReport(results));
if (results.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
