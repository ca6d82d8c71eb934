/**
 * Tries the cluster in whole machines; see `hack/vm-test.sh`. Each scenario has a fresh machine. Ends with a line
 * `N passed, N failed`.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { run } from '#test/e2e/harness.js';
import { Checks } from '#test/vm/checks.js';
import { inFreshMachine, makeDisk } from '#test/vm/lab.js';
import { hasKVM } from '#test/vm/machine/machine.js';
import { keepResult, writeReport } from '#test/vm/report.js';
import { scenarios } from '#test/vm/scenarios/all.js';

const say = (line: string) => void process.stdout.write(`${line}\n`);

const { values, positionals: suites } = parseArgs({
  allowPositionals: true,
  options: {
    images: { type: 'string', default: '.tools/vm' },
    digest: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
  },
});
const only = values.only.split(',').filter((name) => name !== '');
for (const name of only)
  if (!scenarios.some((scenario) => scenario.name === name))
    throw new Error(`no scenario ${name}; there are ${scenarios.map((scenario) => scenario.name).join(', ')}`);

/** Two releases as `make dist` packs them: they differ in the commit that they name. */
async function makePayload(work: string): Promise<string> {
  const content = join(work, 'payload');
  mkdirSync(content);
  const archive = readdirSync('dist').find((name) => /^orch-\d.*\.tar\.gz$/.test(name));
  if (archive === undefined) throw new Error('dist has no archive; run hack/dist.sh');
  await run('tar', ['-xzf', join('dist', archive), '-C', content]);
  const [folder = ''] = readdirSync(content);
  await run('mv', [join(content, folder), join(content, 'orch')]);
  cpSync(join(content, 'orch'), join(content, 'orch-next'), { recursive: true });
  const build = join(content, 'orch-next', 'dist', 'build.json');
  const info = JSON.parse(readFileSync(build, 'utf8')) as Record<string, string>;
  writeFileSync(build, JSON.stringify({ ...info, gitCommit: 'feedbeef00' }));
  const disk = join(work, 'payload.raw');
  makeDisk(disk, content, 900);
  rmSync(content, { recursive: true });
  return disk;
}

const work = mkdtempSync(join(process.env['TMPDIR'] ?? tmpdir(), 'orch-vm-'));
const checks = new Checks(say);
try {
  if (!hasKVM) say('/dev/kvm cannot be opened: the processor is emulated, which takes much longer');
  const payload = await makePayload(work);
  for (const suite of suites) {
    const image = join(values.images, values.digest === '' ? suite : `${suite}-${values.digest}`);
    const versions = readFileSync(join(image, 'versions'), 'utf8');
    for (const scenario of scenarios) {
      if (only.length > 0 && !only.includes(scenario.name)) continue;
      const [passed, failed, began] = [checks.passed, checks.failures.length, realClock.monotonic()];
      say(`${suite}: ${scenario.what}`);
      const folder = join(work, `${suite}-${scenario.name}`);
      const options = { image, folder, payload, checks };
      await checks.part(`${scenario.name} goes through`, () => inFreshMachine(scenario, options));
      const seconds = Math.round((realClock.monotonic() - began) / 1000);
      say(`  ${seconds} s`);
      const result = {
        ...{ what: scenario.what, seconds, accelerator: hasKVM ? 'KVM' : 'emulated' },
        ...{ passed: checks.passed - passed, failed: checks.failures.length - failed },
      };
      // Kept at once: a run in an emulated machine is long.
      keepResult(values.images, { suite, versions, node: process.version, scenarios: { [scenario.name]: result } });
      writeReport(values.images);
    }
  }
} finally {
  if (values.keep) say(`logs: ${work}`);
  else if (existsSync(work)) rmSync(work, { recursive: true, force: true });
}
for (const failure of checks.failures) say(`failed: ${failure}`);
say(`${checks.passed} passed, ${checks.failures.length} failed`);
if (checks.failures.length > 0) process.exitCode = 1;
