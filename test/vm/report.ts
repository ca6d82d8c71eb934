/** Writes what ran into the section of docs/compatibility.md between its two marks. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface HostResult {
  /** Folder that keeps the results of all suites. */
  readonly images: string;
  readonly suite: string;
  /** Lines `name version`. */
  readonly versions: string;
  /** Version of the Node.js in the programs' archive. */
  readonly node: string;
  readonly scenarios: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly accelerator: string;
}

const page = 'docs/compatibility.md';
const [begin, end] = ['<!-- hosts: written by hack/vm-test.sh -->', '<!-- end of hosts -->'];

/** Keeps the result, and writes those of all suites. */
export function writeReport(result: HostResult): void {
  writeFileSync(join(result.images, `result-${result.suite}.json`), JSON.stringify(result));
  const results = readdirSync(result.images)
    .filter((name) => /^result-.*\.json$/.test(name))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(result.images, name), 'utf8')) as HostResult);
  if (!existsSync(page)) return;
  const text = readFileSync(page, 'utf8');
  const section = `${begin}\n${sectionOf(results)}${end}\n`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  writeFileSync(
    page,
    from < 0 || to < from
      ? `${text.trimEnd()}\n\n${section}`
      : text.slice(0, from) + section + text.slice(to + end.length + 1),
  );
}

/** Pure. */
export function sectionOf(results: readonly HostResult[]): string {
  const columns = ['Debian', 'kernel', 'systemd', 'containerd', 'runc', 'etcd-server', 'containernetworking-plugins'];
  const titles = ['Debian', 'kernel', 'systemd', 'containerd', 'runc', 'etcd', 'CNI plugins', 'Node.js', 'result'];
  const rows = results.map(({ versions, node, passed, failed, seconds, accelerator }) => {
    const byName = new Map(versions.split('\n').map((line) => line.split(' ', 2) as [string, string]));
    const figures = `${passed} passed, ${failed} failed, in ${Math.round(seconds / 60)} minutes with ${accelerator}`;
    return [...columns.map((name) => shortVersion(byName.get(name) ?? '')), node.replace('v', ''), figures];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const what = [...new Set(results.flatMap(({ scenarios }) => scenarios))];
  return `## Hosts

\`make vm-test\` boots these machines in qemu, with cgroups of version 2 and systemd, and installs the cluster in them from the
archive of \`make dist\`.

${line(titles)}${line(titles.map(() => '---'))}${rows.map(line).join('')}
What runs in each of them:

${what.map((each) => `- ${each}\n`).join('')}`;
}

/** Without Debian's epoch and revision. */
function shortVersion(version: string): string {
  return version.replace(/^\d+:/, '').replace(/[~+-](ds|b|deb|dfsg).*$|-\d+(\+.*|~.*)?$/, '');
}
