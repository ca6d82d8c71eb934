/** A real Prometheus of a cluster, with the users' rules and shortened times. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parse } from 'yaml';
import { dialectByName } from '#apimachinery/dialect.js';
import { namesOf } from '#observe/names.js';
import { type RuleFile, ruleFile } from '#observe/rules/rules.js';
import { yamlText } from '#observe/yaml.js';
import { Answers } from '#test/e2e/alerts/answers.js';
import { scaledRules } from '#test/e2e/alerts/scaled-rules.js';
import { eventually, Running, root, run, type TestCluster } from '#test/e2e/harness.js';
import { freePort } from '#test/free-port.js';
import { prometheusProgram } from '#test/prometheus.js';

/** Divisor of all durations in rules: five minutes become five seconds. */
const hurry = 60;

/** Value of the label `cluster` for the test's own cluster. */
export const observedCluster = 'test';

/** Targets that only the test knows. */
export interface MoreTargets {
  readonly cluster: string;
  readonly job: string;
  /** `host:port`. */
  readonly targets: readonly string[];
}

const dialect = dialectByName('orch');
const prometheus = prometheusProgram('prometheus');
const promtool = prometheusProgram('promtool');
/** Why Prometheus cannot be started here; false if it can. */
export const noPrometheus = prometheus === undefined || promtool === undefined ? 'prometheus is not installed' : false;

/** Writes the rules of the cluster, and the etcd rules of the other clusters, with shortened times. */
function writeRules(folder: string, clusters: ReadonlySet<string>): void {
  const path = join(folder, 'rules.yml');
  const own = parse(readFileSync(path, 'utf8')) as RuleFile;
  const others = [...clusters].filter((cluster) => cluster !== observedCluster);
  const groups = others.flatMap((cluster) =>
    ruleFile(namesOf(dialect), { cluster, runbooks: 'r' })
      .groups.filter(({ name }) => name === 'etcd')
      .map((group) => ({ ...group, name: `${group.name} of ${cluster}` })),
  );
  writeFileSync(path, yamlText(scaledRules({ groups: [...own.groups, ...groups] }, hurry)));
}

/** Further targets, by the values of the label `cluster`. */
function addTargets(folder: string, added: readonly MoreTargets[]): void {
  const path = join(folder, 'prometheus.yml');
  const config = parse(readFileSync(path, 'utf8')) as { readonly scrape_configs: readonly object[] };
  const more = added.map(({ cluster, job, targets }) => ({
    job_name: `${job} of ${cluster}`,
    static_configs: [{ targets, labels: { cluster, job } }],
  }));
  writeFileSync(path, yamlText({ ...config, scrape_configs: [...config.scrape_configs, ...more] }));
}

/** The commands of the page that begin with the word, with the cluster's directory. */
function commandsOf(page: string, word: string, { dataDir }: TestCluster): string[][] {
  const lines = readFileSync(join(root, 'docs', page), 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith(`${word} `))
    .map((line) =>
      line
        .replace(/ +#.*$/, '')
        .replaceAll('/var/lib/orch', dataDir)
        .split(' ')
        .slice(1),
    );
}

/** Started as in docs/observe.md, except for the intervals. Runs until the test ends. */
export async function startPrometheus(t: Test, cluster: TestCluster, more: readonly MoreTargets[]): Promise<Answers> {
  const [observe = []] = commandsOf('observe.md', 'orch', cluster);
  const quickly = [`--data-dir=${cluster.dataDir}`, `--cluster=${observedCluster}`, '--scrape-interval=2s'];
  const written = await run(join(root, 'bin', 'orch'), [...observe, ...quickly]);
  t.equal(written.code, 0, written.stderr);
  writeRules(join(cluster.dataDir, 'observe'), new Set(more.map((each) => each.cluster)));
  addTargets(join(cluster.dataDir, 'observe'), more);
  const [check = []] = commandsOf('observe.md', 'promtool', cluster);
  const checked = await run(promtool ?? '', check);
  t.equal(checked.code, 0, checked.stdout + checked.stderr);
  const port = await freePort();
  const [serve = []] = commandsOf('observe.md', 'prometheus', cluster);
  const server = new Running(
    prometheus ?? '',
    [...serve, `--storage.tsdb.path=${join(cluster.dataDir, 'prometheus')}`, `--web.listen-address=127.0.0.1:${port}`],
    {},
  );
  t.teardown(() => server.stop());
  const answers = new Answers(`127.0.0.1:${port}`);
  await eventually('Prometheus answers', async () => (await answers.targets()).length > 0);
  return answers;
}
