/**
 * Compares YAML reading with release 1.24: with recorded answers, and with the library itself (go-yaml 2.4 with
 * sigs.k8s.io/yaml 1.2) if Go and the library are available. `RECORD=1` records new answers.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { repeatedKeysError } from '#apimachinery/codec/json/duplicates.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { encodeYAML, parseYAML, readYAML } from '#apimachinery/codec/yaml.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { RandomYAML } from '#apimachinery/testing/random-yaml.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const testdata = 'pkg/apimachinery/codec/testdata';
const recordedFile = join(testdata, 'yaml-answers.json');

/** The JSON, followed by lines about repeated keys; `!` and the error for an invalid text. */
type Answer = string;

const goModules = `module oracle

go 1.18

require (
	gopkg.in/yaml.v2 v2.4.0
	sigs.k8s.io/yaml v1.2.0
)
`;

/** Builds the oracle in its own folder; returns the reason if that is impossible. */
function buildOracle(folder: string): string | undefined {
  copyFileSync(join(testdata, 'yaml-oracle', 'main.go'), join(folder, 'main.go'));
  writeFileSync(join(folder, 'go.mod'), goModules);
  try {
    const env = { ...process.env, GOFLAGS: '-mod=mod' };
    execFileSync('go', ['build', '-o', 'oracle', '.'], { cwd: folder, env, stdio: 'pipe', timeout: 300_000 });
    return undefined;
  } catch (error) {
    return `no Go, or not the library: ${String(error).slice(0, 200)}`;
  }
}

function ask(folder: string, texts: readonly string[]): Answer[] {
  const input = texts.map((text) => `${JSON.stringify(text)}\n`).join('');
  const { stdout } = spawnSync(join(folder, 'oracle'), { input, maxBuffer: 2 ** 30 });
  return stdout
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as string);
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, inOrder(member)]));
}

/** The oracle's answer as a server that decodes its JSON sees it. */
function decodedAnswer(answer: Answer): Answer {
  if (answer.startsWith('!')) return '!';
  const [json = '', ...repeated] = answer.split('\n');
  return [toJSONText(inOrder(parseJSONText(json))), ...repeated].join('\n');
}

function ours(text: string): Answer {
  try {
    const { value, repeated } = readYAML(text);
    const said = repeated.length === 0 ? [] : [repeatedKeysError(repeated)];
    return [toJSONText(inOrder(value)), ...said].join('\n');
  } catch (error) {
    if (error instanceof DecodeError) return '!';
    throw error;
  }
}

function randomTexts(seed: number, count: number): string[] {
  const random = new RandomYAML(seededRandom(seed));
  return Array.from({ length: count }, () => random.text());
}

/** Texts from manifests, and known differences between readers. */
const samples = [
  'a: e12345',
  'a: E1',
  'a: .',
  'a:\n  b: [\n  1,\n2\n]\n',
  'args: [\n"a",\n"b"\n]',
  'a: 1\n---\n',
  'a: 1\n---\nb: [\n',
  '---\na: 1\n...\n',
  'y: 1\nn: 2',
  'mode: 0755\nother: 0o755',
  'a: 0x1_F',
  'a: 12:30:45',
  'a: &a {b: 1}\nc:\n  <<: *a\n  b: 2\nd:\n  b: 2\n  <<: *a\n',
  'a: !!binary |\n  aGVs\n  bG8=\n',
  'a: 18446744073709551615',
  '{"a": "\\/"}',
  '{"a": "\\ud83d\\ude00"}',
  '\t{"a": 1}',
  '{"a": 1}\n\t',
  '{"a"\n: 1}',
  '{"a" : 1.0, "b": 1e400, "c": -0.0}',
  '{"a": 1, "a": 2}',
  '# nothing\n',
  '',
];

const folder = mkdtempSync(join(tmpdir(), 'yaml-oracle-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const missing = buildOracle(folder);

t.test('texts are read as in the recorded answers of 1.24', async (t) => {
  if (process.env['RECORD'] === '1') {
    if (missing !== undefined) throw new Error(missing);
    const texts = [...samples, ...randomTexts(34, 1000).filter((text) => text.length < 300)];
    const answers = ask(folder, texts);
    const rows = texts.map((text, i) => JSON.stringify([text, answers[i]]));
    writeFileSync(recordedFile, `[\n${rows.join(',\n')}\n]\n`);
  }
  const rows = JSON.parse(readFileSync(recordedFile, 'utf8')) as [text: string, answer: Answer][];
  t.ok(rows.length > 900);
  for (const [text, answer] of rows)
    if (ours(text) !== decodedAnswer(answer)) t.equal(ours(text), decodedAnswer(answer), text);
});

t.test('texts are read as by the library of 1.24', { timeout: 600_000, skip: missing ?? false }, async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  const texts = randomTexts(seed, 5000);
  for (const [i, answer] of ask(folder, texts).entries()) {
    const text = texts[i] as string;
    if (ours(text) !== decodedAnswer(answer))
      t.equal(ours(text), decodedAnswer(answer), `SEED=${seed}: ${JSON.stringify(text)}`);
  }
});

t.test('written texts are read back', async (t) => {
  const seed = Number(process.env['SEED'] ?? 34);
  const texts = randomTexts(seed, 1000).filter((text) => !text.includes('\x01'));
  for (const text of [
    ...texts,
    'y',
    '0o17',
    '0X1F',
    '0B1',
    '.5_5',
    '+.5',
    '0b-1',
    '<<',
    '1_0',
    '',
    ' ',
    '\n',
    '# a',
    '- a',
    'a: b',
  ]) {
    const value = { [text]: text, list: [text, [text], { a: text, [text]: 9007199254740993n }] };
    const written = encodeYAML(value).toString();
    if (toJSONText(parseYAML(written)) !== toJSONText(value))
      t.same(parseYAML(written), value, `${JSON.stringify(text)}: ${written}`);
  }
});
