/** Keeps what ran on which host, and writes it into docs/compatibility.md between two marks. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ScenarioResult {
  readonly what: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly accelerator: string;
}

export interface HostResult {
  readonly suite: string;
  /** Lines `name version`. */
  readonly versions: string;
  /** Version of the Node.js in the programs' archive. */
  readonly node: string;
  /** By name, each from its last run. */
  readonly scenarios: Readonly<Record<string, ScenarioResult>>;
}

const page = 'docs/compatibility.md';
const [begin, end] = ['<!-- hosts: written by hack/vm-test.sh -->', '<!-- end of hosts -->'];

/** Adds results to those of earlier runs on that host. @param folder Keeps the results of all hosts. */
export function keepResult(folder: string, result: HostResult): void {
  const file = join(folder, `result-${result.suite}.json`);
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as HostResult).scenarios : {};
  writeFileSync(file, JSON.stringify({ ...result, scenarios: { ...earlier, ...result.scenarios } }));
}

/** Writes the results of all hosts. */
export function writeReport(folder: string): void {
  const results = readdirSync(folder)
    .filter((name) => /^result-.*\.json$/.test(name))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as HostResult);
  const text = readFileSync(page, 'utf8');
  const section = `${begin}\n${sectionOf(results)}${end}\n`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const isThere = from >= 0 && to > from;
  writeFileSync(
    page,
    isThere ? text.slice(0, from) + section + text.slice(to + end.length + 1) : `${text.trimEnd()}\n\n${section}`,
  );
}

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
const heading = (titles: readonly string[]) => line(titles) + line(titles.map(() => '---'));

/** Pure. */
export function sectionOf(results: readonly HostResult[]): string {
  const columns = ['Debian', 'kernel', 'systemd', 'containerd', 'runc', 'etcd-server', 'containernetworking-plugins'];
  const titles = ['Debian', 'kernel', 'systemd', 'containerd', 'runc', 'etcd', 'CNI plugins', 'Node.js'];
  const hosts = results.map(({ versions, node }) => {
    const byName = new Map(versions.split('\n').map((text) => text.split(' ', 2) as [string, string]));
    return [...columns.map((name) => shortVersion(byName.get(name) ?? '')), node.replace('v', '')];
  });
  const whats = [...new Set(results.flatMap(({ scenarios }) => Object.values(scenarios).map(({ what }) => what)))];
  const rows = whats.map((what) => [what, ...results.map((result) => cellOf(result, what))]);
  return `## Hosts

\`make vm-test\` boots these machines in qemu, with cgroups of version 2 and systemd, and installs the cluster in them from the
archive of \`make dist\`.

${heading(titles)}${hosts.map(line).join('')}
What ran in them:

${heading(['what', ...hosts.map(([debian]) => `Debian ${debian}`)])}${rows.map(line).join('')}
`;
}

function cellOf({ scenarios }: HostResult, what: string): string {
  const result = Object.values(scenarios).find((each) => each.what === what);
  if (result === undefined) return 'not run';
  const minutes = Math.max(1, Math.round(result.seconds / 60));
  return `${result.passed} passed, ${result.failed} failed (${minutes} min, ${result.accelerator})`;
}

/** Without Debian's epoch and revision. */
function shortVersion(version: string): string {
  return version.replace(/^\d+:/, '').replace(/[~+-](ds|b|deb|dfsg).*$|-\d+(\+.*|~.*)?$/, '');
}
