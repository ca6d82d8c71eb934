/** The rules of both dialects, checked and run by Prometheus's own tool. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { dialectByName } from '#apimachinery/dialect.js';
import { type Names, namesOf, ofCluster } from '#observe/names.js';
import { alertGroups, ruleFile } from '#observe/rules/rules.js';
import { run } from '#test/e2e/harness.js';
import { type AlertCase, alertCases } from '#test/integration/metrics/alert-cases.js';
import { prometheusProgram } from '#test/prometheus.js';

t.setTimeout(120_000);

const program = prometheusProgram('promtool');
const skip = program === undefined ? 'promtool is not installed' : false;
const promtool = (...args: string[]) => run(program ?? '', args);
const cluster = 'c';

/** Path of the rules, in a folder that is removed after the test. */
function writeRules(t: Pick<Test, 'teardown'>, names: Names): string {
  const folder = mkdtempSync(join(tmpdir(), 'rules-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'rules.yml');
  writeFileSync(path, stringify(ruleFile(names, { cluster, runbooks: 'docs/runbooks.md' }), { lineWidth: 0 }));
  return path;
}

/** All cases in one test, since the tool is slow for each test. */
function ruleTest(cases: readonly AlertCase[]): object {
  const series = new Map<string, string>();
  for (const [name, values] of cases.flatMap((each) => Object.entries(each.series))) {
    if ((series.get(name) ?? values) !== values) throw new Error(`two cases want different values of ${name}`);
    series.set(name, values);
  }
  return {
    interval: '1m',
    input_series: [...series].map(([name, values]) => ({ series: ofCluster(name, cluster), values })),
    promql_expr_test: cases.flatMap(({ alert, severity, fires = 55, ended = 100 }) => {
      const labels = severity === undefined ? '' : `, severity="${severity}"`;
      const expr = `min(ALERTS{alertname="${alert}", alertstate="firing", cluster="${cluster}"${labels}})`;
      return [
        { expr, eval_time: `${fires}m`, exp_samples: [{ labels: '{}', value: 1 }] },
        { expr, eval_time: `${ended}m`, exp_samples: [] },
      ];
    }),
  };
}

for (const dialect of ['orch', 'kubernetes'] as const) {
  const names = namesOf(dialectByName(dialect));

  t.test(`each alert of the dialect ${dialect} has a case, and a series is named with braces`, async (t) => {
    const keyOf = (name: string, severity: string) => `${name} ${severity}`;
    const rules = ruleFile(names, { cluster, runbooks: 'r' }).groups.flatMap((group) => group.rules);
    const alerts = rules.filter(({ alert }) => alert !== undefined);
    const severities = new Map(alerts.map(({ alert = '', labels }) => [alert, labels['severity'] ?? '']));
    const covered = alertCases(names).map(({ alert, severity }) =>
      keyOf(alert, severity ?? severities.get(alert) ?? ''),
    );
    t.same(covered.sort(), alerts.map(({ alert = '', labels }) => keyOf(alert, labels['severity'] ?? '')).sort());
    for (const { name, runbook } of alertGroups(names).flatMap((group) => group.alerts)) {
      t.ok(runbook.look.length > 0 && runbook.meaning.endsWith('.') && runbook.act.endsWith('.'), name);
    }
    for (const { expr } of rules) {
      const selectors = expr.match(/\{/g)?.length ?? 0;
      t.equal(expr.match(/\{cluster="c"/g)?.length, selectors, expr);
      // Words that are followed by neither a brace nor a parenthesis are labels, operators or numbers, never series.
      const outside = expr.replaceAll(/\{[^}]*\}/g, '{}').replaceAll(/\b(by|on|without) \([^)]*\)/g, '');
      const words = outside.match(/\b[a-z][\w:]*(?![\w:]|\s*[({])/g) ?? [];
      t.same(
        words.filter((word) => !['and', 'or', 'bool', 'by', 'on'].includes(word) && !/^\d*[smhd]$/.test(word)),
        [],
        expr,
      );
    }
  });

  t.test(`the rules of the dialect ${dialect} are in order`, { skip }, async (t) => {
    const { code, stdout, stderr } = await promtool(
      'check',
      'rules',
      '--lint=all',
      '--lint-fatal',
      writeRules(t, names),
    );
    t.equal(code, 0, stdout + stderr);
  });
}

t.test('each alert fires, and ends', { skip }, async (t) => {
  // The dialects differ only in names.
  const names = namesOf(dialectByName('kubernetes'));
  const rules = writeRules(t, names);
  const tests = join(dirname(rules), 'tests.yml');
  const all = { rule_files: [rules], evaluation_interval: '1m', tests: [ruleTest(alertCases(names))] };
  writeFileSync(tests, stringify(all, { lineWidth: 0 }));
  const { code, stdout, stderr } = await promtool('test', 'rules', tests);
  t.equal(code, 0, stdout + stderr);
});
