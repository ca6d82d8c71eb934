import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';
import { type ChartSchema, valuesOf } from './chart-schema.js';
import { type ChartFacts, chartReadme } from './chart-values.js';

const chart = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../../charts/orch/${file}`, import.meta.url)), 'utf8');
const schema = JSON.parse(chart('values.schema.json')) as ChartSchema;
const facts = parse(chart('Chart.yaml')) as ChartFacts;

t.test('the README of the chart is what its values say', async (t) => {
  t.equal(chart('README.md'), chartReadme(facts, schema, parse(chart('values.yaml'))), 'else run: make generate');
});

t.test('every value has a description and a default', async (t) => {
  for (const { path, schema: value } of valuesOf(schema)) t.ok(value.description, path.join('.'));
  const { image, ...rest } = parse(chart('values.yaml')) as Record<string, object>;
  t.throws(() => chartReadme(facts, schema, rest), /values.yaml lacks image.registry/);
  t.throws(() => chartReadme(facts, schema, { ...rest, image: { ...image, name: '' } }), /lacks image.name/);
});
