/** Derives `docs/reference` from the programs' option tables, and the chart's README from its values. Run by hack/generate.sh from the repository's root. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { nodeAgentProgram } from '#cluster/node-agent/program.js';
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { forkingWorkers } from '#cmd/orch-apiserver/worker-process.js';
import { controllerManagerProgram } from '#cmd/orch-controller-manager/program.js';
import { ingressProgram } from '#cmd/orch-ingress/program.js';
import { proxyProgram } from '#cmd/orch-proxy/program.js';
import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import type { ChartSchema } from './chart-schema.js';
import { type ChartFacts, chartReadme } from './chart-values.js';
import { optionReference, type Reference } from './options.js';

const makers = [
  (facts: typeof process) => apiServerProgram(facts, forkingWorkers()),
  controllerManagerProgram,
  schedulerProgram,
  nodeAgentProgram,
  proxyProgram,
  ingressProgram,
];
const programs = makers.map((make) => {
  const { name, description, options, actingGates } = make(process);
  return { name: name(orchDialect), description, table: options(orchDialect), acting: actingGates?.() };
});
const gates = new Map<string, string[]>();
for (const { name, acting = [] } of programs) {
  for (const gate of new Set(acting)) gates.set(gate, [...(gates.get(gate) ?? []), name]);
}
const references = programs.map(
  ({ name, description, table, acting }): Reference => ({
    ...{ name, description, table, other: kubernetesDialect },
    ...(acting === undefined ? {} : { gates }),
  }),
);
mkdirSync('docs/reference', { recursive: true });
for (const reference of references) write(`docs/reference/${reference.name}.md`, optionReference(reference));
const chart = (file: string) => readFileSync(`charts/orch/${file}`, 'utf8');
const schema = JSON.parse(chart('values.schema.json')) as ChartSchema;
write(
  'charts/orch/README.md',
  chartReadme(parse(chart('Chart.yaml')) as ChartFacts, schema, parse(chart('values.yaml'))),
);

function write(path: string, text: string): void {
  if (readOrEmpty(path) !== text) writeFileSync(path, text);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
