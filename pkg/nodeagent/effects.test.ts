/** Every option and field has a test that sees its effect, given either way and in both dialects. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import type { OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { configFields } from '#nodeagent/options/config/fields.js';
import { applyConfig } from '#nodeagent/options/config/file.js';
import { configApiVersion, configKind, fieldName } from '#nodeagent/options/config/value-formats.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { type NodeAgentOptionTable, nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { fieldEffects, optionEffects } from '#nodeagent/testing/effects/all.js';
import type { Effect, Effects, Proof } from '#nodeagent/testing/effects/effect.js';

// Tests run compiled, below dist.
const root = new URL('../../../', import.meta.url);
const dialects = [orchDialect, kubernetesDialect];

type Parsed = ParsedOptions<NodeAgentOptionTable>;

function parse(argv: readonly string[], dialect: Dialect): Parsed {
  const parsed = parseOptions(nodeAgentOptionTable(dialect), argv, { program: 'p' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  return parsed;
}

function withFile(fields: Plain, argv: readonly string[], dialect: Dialect): Parsed {
  const named = Object.entries(fields).map(([name, value]) => [fieldName(name, dialect), value]);
  const head = { apiVersion: configApiVersion(dialect), kind: configKind(dialect) };
  const text = JSON.stringify({ ...head, ...Object.fromEntries(named) });
  return applyConfig(nodeAgentOptionTable(dialect), parse(argv, dialect), { text, source: 'file', dialect });
}

/** Without options that have another default in the file. */
const lenient: Plain = {
  readOnlyPort: 10_255,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
};

interface Ways {
  readonly without: Parsed;
  readonly option: Parsed;
  /** Absent for options without a field. */
  readonly file?: Parsed;
}

function waysOf(name: string, effect: Effect, dialect: Dialect): Ways {
  const { argument = '', fields, gates = [], isOpposite = false } = effect;
  const enabled = gates.map((gate) => `--feature-gates=${gate}=true`);
  const argv = [...(effect.with ?? []), ...enabled].filter((text) => !text.startsWith(`--${name}=`));
  const option = parse([...argv, `--${name}=${argument}`], dialect);
  const without = parse(argv, dialect);
  if (fields === undefined) return { without, option };
  return { without, option, file: withFile(isOpposite ? fields : { ...lenient, ...fields }, argv, dialect) };
}

const valueIn = ({ values }: Parsed, name: string): unknown => (values as Readonly<Record<string, unknown>>)[name];

t.test('every option and every field has a row, and no row is left over', async (t) => {
  const table: OptionTable = nodeAgentOptionTable(orchDialect);
  t.same(Object.keys(optionEffects).sort(), Object.keys(table).sort(), 'options');
  const named = Object.entries(table).flatMap(([name, { configField }]) => (configField ? [[name, configField]] : []));
  for (const [name = '', path = ''] of named)
    t.ok(reaches(optionEffects[name]?.fields, path), `${path} is in the row of --${name}`);
  const rows = named.map(([, path = '']) => path.split('.')[0] ?? '');
  t.same([...new Set([...rows, ...Object.keys(fieldEffects)])].sort(), Object.keys(configFields).sort(), 'fields');
});

function reaches(fields: unknown, path: string): boolean {
  return path.split('.').reduce((at: unknown, part) => (isPlain(at) ? at[part] : undefined), fields) !== undefined;
}

t.test('option and field lead to one value, which is not the default', async (t) => {
  for (const dialect of dialects) {
    for (const [name, effect] of Object.entries(optionEffects)) {
      if (name === 'dialect') continue;
      const { without, option, file } = waysOf(name, effect, dialect);
      const label = `${dialect.name} --${name}`;
      t.strictNotSame(valueIn(option, name), valueIn(without, name), `${label}: the option`);
      if (file === undefined) continue;
      if (effect.isOpposite)
        t.strictNotSame(valueIn(file, name), valueIn(withFile({}, [], dialect), name), `${label}: the field`);
      else t.strictSame(valueIn(file, name), valueIn(option, name), `${label}: the field`);
    }
  }
});

const proofs = (effects: Effects): [string, Proof][] =>
  Object.entries(effects).map(([name, { proof }]) => [name, proof]);

t.test('tests that the table names exist', async (t) => {
  for (const [name, proof] of [...proofs(optionEffects), ...proofs(fieldEffects)]) {
    if (proof === 'inert' || !('test' in proof)) continue;
    const { file, title } = proof.test;
    const text = await readFile(new URL(file, root), 'utf8').catch(() => '');
    t.ok(text.includes(title), `${name}: ${file} has the test "${title}"`);
  }
});

t.test('an option without effect says so, given either way', async (t) => {
  const table: OptionTable = nodeAgentOptionTable(orchDialect);
  for (const [name, effect] of Object.entries(optionEffects)) {
    if (effect.proof !== 'inert') continue;
    const { option, file } = waysOf(name, effect, orchDialect);
    const sentence = ` has no effect: ${table[name]?.inert}`;
    t.ok(option.warnings.includes(`Flag --${name}${sentence}`), `--${name}`);
    if (file === undefined) continue;
    t.ok(
      file.warnings.some((text) => text.endsWith(sentence)),
      `the field of --${name}`,
    );
  }
});

for (const dialect of dialects) {
  t.test(`options and fields act, ${dialect.name} dialect`, { timeout: 120_000 }, async (t) => {
    for (const [name, effect] of Object.entries(optionEffects)) {
      const { proof } = effect;
      if (proof === 'inert' || !('sight' in proof)) continue;
      const { without, option, file } = waysOf(name, effect, dialect);
      const see = async ({ values }: { readonly values: NodeAgentOptions }) => proof.sight(values, dialect);
      const seen = await see(option);
      t.match(seen, proof.expected, `--${name} acts`);
      if (proof.expected === undefined) t.equal(seen, undefined, `--${name} acts`);
      // Option and field lead to one value in both dialects; one of them is enough for what follows.
      if (dialect !== orchDialect) continue;
      t.strictNotSame(await see(without), seen, `without --${name}`);
      if (file === undefined) continue;
      const expected = effect.isOpposite === true ? await see(without) : seen;
      t.strictSame(await see(file), expected, `the field of --${name} acts`);
    }
  });
}
