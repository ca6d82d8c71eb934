/**
 * The conformance suite of release 1.24 on a cluster of two machines (network namespaces) with real containers: first the
 * tests that can run concurrently, then those that need the cluster for themselves.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { layoutOf } from '#cluster/config/layout.js';
import { ownRanges, rangeArguments, root, whyNoServices } from '#test/e2e/harness.js';
import { type Host, makeHosts } from '#test/e2e/hosts.js';
import { conformanceImages } from '#test/outsiders/conformance/images.js';
import { readGoOutput } from '#test/outsiders/go-output.js';
import type { SuiteResult } from '#test/outsiders/report.js';
import { runLogged } from '#test/outsiders/run-logged.js';
import { inSuiteEnvironment, type SuiteEnvironment } from '#test/outsiders/suite-environment.js';

export interface ConformanceTests {
  /** Tests that can run concurrently. */
  readonly together: readonly string[];
  /** Tests that need the cluster for themselves. */
  readonly alone: readonly string[];
}

const needsCluster = /\[(Serial|Disruptive)\]/;

/**
 * Full names of tests, in the order of the list.
 * @param list The text of `conformance.yaml`. Throws if it is no list of tests.
 * @param focus A regular expression for names; empty: all.
 */
export function conformanceTests(list: string, focus: string): ConformanceTests {
  const entries: unknown = parse(list);
  if (!Array.isArray(entries)) throw new Error('the list of conformance tests must be a list');
  const chosen = new RegExp(focus);
  const names = entries.map(nameOf).filter((name) => chosen.test(name));
  return {
    together: names.filter((name) => !needsCluster.test(name)),
    alone: names.filter((name) => needsCluster.test(name)),
  };
}

function nameOf(entry: unknown): string {
  const name = (entry as { readonly codename?: unknown } | null)?.codename;
  if (typeof name !== 'string') throw new Error(`no test of the conformance suite: ${JSON.stringify(entry)}`);
  return name;
}

/** One Go regular expression for exactly these names, since Ginkgo treats several as alternatives. */
export function focusOn(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
}

const startMs = 300_000;
const testsInRelease = 'test/conformance/testdata/conformance.yaml';

/** @param focus A regular expression for test names; empty: the whole conformance suite. */
export async function conformance(focus: string): Promise<SuiteResult> {
  const impossible = whyNoServices();
  if (impossible !== undefined) return { suite: 'conformance', passed: 0, failures: [], skipped: 0, note: impossible };
  return inSuiteEnvironment('conformance', async (surroundings) => {
    const { built, folder, cleanup, log } = surroundings;
    const network = makeHosts([2]);
    cleanup.teardown(() => network.destroy());
    const [first, second] = network.hosts as [Host, Host];
    const config = await startMachines(surroundings, first, second);
    const suite = join(built, 'bin', 'conformance.test');
    const { together, alone } = conformanceTests(
      await readFile(join(built, 'kubernetes', testsInRelease), 'utf8'),
      focus,
    );
    const runPart = (name: string, nodes: number, tests: readonly string[]) => {
      const options = [`--kubeconfig=${config}`, `--kubectl-path=${join(built, 'bin', 'kubectl')}`, '--provider=local'];
      const args = [`-nodes=${nodes}`, '-noColor', `-focus=${focusOn(tests)}`, suite, '--', ...options];
      const command = first.command(join(built, 'bin', 'ginkgo'), args);
      return runLogged(...command, { cwd: folder, log: log.replace(/(\.log)$/, `-${name}$1`) });
    };
    const parts: string[] = [];
    if (together.length > 0) parts.push(await runPart('together', 4, together));
    if (alone.length > 0) parts.push(await runPart('alone', 1, alone));
    // Ginkgo's own program does not print Go's verdict.
    return readGoOutput(parts.map((part) => `${part}\n--- FAIL: ginkgo\n`).join(''));
  });
}

/** Starts a cluster of both machines with the suite's images; returns the path of the administrator's configuration. */
async function startMachines({ built, folder, cleanup }: SuiteEnvironment, first: Host, second: Host): Promise<string> {
  const dirOf = (host: Host) => join(folder, host === first ? '1' : '2');
  const orch = join(root, 'bin', 'orch');
  const ok = async (host: Host, program: string, args: readonly string[], env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await host.run(program, args, { env, timeoutMs: startMs });
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  };
  for (const host of [first, second]) {
    await mkdir(dirOf(host));
    cleanup.teardown(async () => {
      if (existsSync(layoutOf(dirOf(host)).settings))
        await ok(host, orch, ['down', '--delete', '--data-dir', dirOf(host)]);
    });
  }
  const archive = join(folder, 'images.tar');
  const images = await promisify(execFile)(join(built, 'bin', 'conformance.test'), ['--list-images']);
  const names = images.stdout.split('\n').filter((name) => name !== '');
  const parts = { bin: join(built, 'bin'), debian: join(built, 'debian'), release: join(built, 'kubernetes') };
  await writeFile(archive, conformanceImages(names, parts));
  const at = (host: Host) => ['--data-dir', dirOf(host), '--node-ip', host.address];
  const ranges = rangeArguments(await ownRanges());
  await ok(first, orch, ['up', '--detach', '--dialect=kubernetes', '--runtime=containerd', ...at(first), ...ranges]);
  const config = layoutOf(dirOf(first)).clientConfig;
  const ctl = join(root, 'bin', 'orchctl');
  const env = { KUBECONFIG: config, ORCHCONFIG: config };
  const line = (await ok(first, ctl, ['token', 'create', '--print-join-command'], env)).trim().split(' ').slice(1);
  const joining = line.filter((word) => word !== '--detach');
  await ok(second, orch, [...joining, '--detach', ...at(second), '--node-name', 'second']);
  for (const host of [first, second]) await ok(host, ctl, ['image', 'load', archive, '--data-dir', dirOf(host)], env);
  return config;
}
