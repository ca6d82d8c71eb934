/** The table of the chart's values: what they mean out of their schema, their defaults out of `values.yaml`. Pure. */

export interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/** Throws for a value that the schema does not describe, or that has no default. */
export function chartValues(schema: ValueSchema, defaults: unknown): string {
  const rows = rowsOf(schema, defaults, []);
  return [
    '# Values of the chart',
    '',
    'Written by `make generate` from `charts/orch/values.schema.json` and `charts/orch/values.yaml`.',
    '',
    '| value | type | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function rowsOf({ properties = {} }: ValueSchema, defaults: unknown, path: readonly string[]): string[] {
  const given = isObject(defaults) ? defaults : {};
  const unknown = Object.keys(given).filter((name) => properties[name] === undefined);
  if (unknown.length > 0) throw new Error(`values.schema.json lacks ${[...path, unknown[0]].join('.')}`);
  return Object.entries(properties).flatMap(([name, schema]) => {
    // Helm's own, of charts within charts.
    if (path.length === 0 && name === 'global') return [];
    const full = [...path, name];
    if (!(name in given)) throw new Error(`values.yaml lacks ${full.join('.')}`);
    if (schema.properties !== undefined) return rowsOf(schema, given[name], full);
    const type = schema.enum?.map((each) => `\`${each}\``).join(', ') ?? [schema.type ?? ''].flat().join(', ');
    const value = JSON.stringify(given[name]);
    return [
      `| \`${full.join('.')}\` | ${type} | ${value === '""' ? '' : `\`${value}\``} | ${schema.description ?? ''} |`,
    ];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
