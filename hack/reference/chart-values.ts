/** The chart's README: what its values mean, out of their schema, and their defaults, out of `values.yaml`. Pure. */
import { type ChartSchema, type ChartValue, sectionsOf, type ValueSchema, valuesOf } from './chart-schema.js';

export interface ChartFacts {
  readonly name: string;
  readonly description: string;
  readonly kubeVersion: string;
}

/** Number of parts that must share a value before it moves to the table of all parts. */
const usualParts = 3;

/** Throws for a value that the schema does not describe, or that has no default. */
export function chartReadme(
  { name, description, kubeVersion }: ChartFacts,
  schema: ChartSchema,
  defaults: unknown,
): string {
  refuseUndescribed(schema, defaults, []);
  const values = valuesOf(schema);
  const shared = sharedNames(values);
  const isUsual = (value: ChartValue) => isShared(value, shared);
  const usual = usualValues(values.filter(isUsual), defaults);
  const sections = sectionsOf(schema);
  const top = values.filter(({ path }) => path.length === 1);
  const isOwn = (value: ChartValue) => !isUsual(value) || usual.get(nameInPart(value)) !== look(value, defaults);
  return [
    `# ${name}`,
    '',
    `${description}. It needs Kubernetes ${kubeVersion.replace(/^>=(\d+\.\d+).*/, '$1 or newer')}, or orch itself.`,
    '',
    '```sh',
    `helm install ${name} charts/${name}`,
    `helm test ${name}`,
    '```',
    '',
    'How it works, what the host must allow, backups and the size of etcd: [docs/helm.md](../../docs/helm.md). Values files for common',
    'needs: [docs/helm-examples.md](../../docs/helm-examples.md). `helm show values` prints the defaults.',
    '',
    'This file is written by `make generate` from `values.schema.json` and `values.yaml`. Helm refuses values that the schema does',
    'not have.',
    '',
    '## The whole chart',
    '',
    ...table(top.map((value) => row(value.path.join('.'), value, defaults))),
    '## Every part',
    '',
    `${partsOf(values)
      .map((part) => `\`${part}\``)
      .join(', ')} have these values. A section below repeats those whose default`,
    'or meaning is not that of the others.',
    '',
    ...table([...usual].map(([value, text]) => `| \`${value}\` ${text}`)),
    ...sections.flatMap(([section, { description: text = '' }]) => {
      const own = values.filter((value) => value.path[0] === section && isOwn(value));
      return [`## ${section}`, '', text, '', ...table(own.map((value) => row(value.path.join('.'), value, defaults)))];
    }),
  ]
    .join('\n')
    .replace(/\n+$/, '\n');
}

function nameInPart({ path }: ChartValue): string {
  return path.slice(1).join('.');
}

function sharedNames(values: readonly ChartValue[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const value of values)
    if (value.isShared) counts.set(nameInPart(value), (counts.get(nameInPart(value)) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count >= usualParts).map(([name]) => name));
}

function isShared(value: ChartValue, shared: ReadonlySet<string>): boolean {
  return value.isShared && shared.has(nameInPart(value)) && !nameInPart(value).startsWith('service.');
}

/** The parts that run pods. */
function partsOf(values: readonly ChartValue[]): string[] {
  return values.filter(({ path }) => path[1] === 'podLabels').map(({ path }) => path[0] ?? '');
}

/** The rows of the values of all parts, without the default where it is not the same in all. */
function usualValues(values: readonly ChartValue[], defaults: unknown): Map<string, string> {
  const rows = new Map<string, string>();
  for (const value of values) {
    const name = nameInPart(value);
    const text = look(value, defaults);
    const seen = rows.get(name);
    rows.set(name, seen === undefined || seen === text ? text : look(value, undefined));
  }
  return rows;
}

function defaultOf({ path }: ChartValue, defaults: unknown): unknown {
  let at = defaults;
  for (const name of path) {
    if (!isObject(at) || !(name in at)) throw new Error(`values.yaml lacks ${path.join('.')}`);
    at = at[name];
  }
  return at;
}

function table(rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : ['| value | type | default | meaning |', '|---|---|---|---|', ...rows, ''];
}

function row(name: string, value: ChartValue, defaults: unknown): string {
  return `| \`${name}\` ${look(value, defaults)}`;
}

/** The cells of a value beside its name; without defaults none is shown. */
function look(value: ChartValue, defaults: unknown): string {
  const { schema } = value;
  const type =
    schema.enum
      ?.filter((each) => each !== '')
      .map((each) => `\`${each}\``)
      .join(', ') ?? [schema.type ?? ''].flat().join(', ');
  const json = defaults === undefined ? '""' : JSON.stringify(defaultOf(value, defaults));
  const shown = ['""', 'null', '[]', '{}'].includes(json) ? '' : `\`${json}\``;
  return `| ${type} | ${shown} | ${schema.description ?? ''} |`;
}

function refuseUndescribed(schema: ValueSchema, defaults: unknown, path: readonly string[]): void {
  if (schema.properties === undefined || !isObject(defaults)) return;
  for (const [name, value] of Object.entries(defaults)) {
    const own = schema.properties[name];
    if (own === undefined) throw new Error(`values.schema.json lacks ${[...path, name].join('.')}`);
    refuseUndescribed(own, value, [...path, name]);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
