/**
 * Derives from `pkg/observe` the rules and dashboards of the chart, in both dialects, and the page of runbooks. Run by
 * hack/generate.sh from the repository's root.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { dashboards } from '#observe/dashboards/dashboards.js';
import { dashboardText, grafanaDashboard } from '#observe/dashboards/grafana.js';
import { namesOf } from '#observe/names.js';
import { ruleFile } from '#observe/rules/rules.js';
import { runbookPage } from '#observe/rules/runbooks.js';
import { yamlText } from '#observe/yaml.js';

const folder = 'charts/orch/observe';
rmSync(folder, { recursive: true, force: true });
for (const dialect of [orchDialect, kubernetesDialect]) {
  const names = namesOf(dialect);
  // The chart puts the name of the release and the value of metrics.rules.runbooks in their places.
  const rules = ruleFile(names, { cluster: '@cluster@', runbooks: '@runbooks@' });
  write(join(folder, dialect.name, 'rules.yaml'), yamlText(rules));
  for (const each of dashboards(names)) {
    const path = join(folder, dialect.name, 'dashboards', `${each.uid}.json`);
    write(path, dashboardText(grafanaDashboard(each, dialect.product)));
  }
}
write('docs/runbooks.md', runbookPage(namesOf(orchDialect), namesOf(kubernetesDialect)));

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
