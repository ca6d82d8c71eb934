import { readFile } from 'node:fs/promises';
import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { answerFor, execAnswers, httpAnswerFor, httpAnswers } from '#nodeagent/simulated/settings/answers.js';
import { matchesContainer, matchesPod, parseRules, RulesError } from '#nodeagent/simulated/settings/rules.js';
import { settingTable } from '#nodeagent/simulated/settings/table.js';
import { Usage, usageProfile } from '#nodeagent/simulated/settings/usage.js';
import { matchesGlob, ofAttempt, SettingError } from '#nodeagent/simulated/settings/values.js';

t.test('values of settings', async (t) => {
  const accepted: readonly (readonly [keyof typeof settingTable, unknown, unknown])[] = [
    ['start-latency', '1.5s', 1500],
    ['start-latency', 0, 0],
    ['stop-latency', 'never', Infinity],
    ['exit-after', '2s', [2000]],
    ['exit-after', '1s, 1s, never', [1000, 1000, Infinity]],
    ['exit-after', ['1s', 'never'], [1000, Infinity]],
    ['exit-code', '1,1,0', [1, 1, 0]],
    ['exit-code', 3, [3]],
    ['exit-reason', 'OOMKilled', 'OOMKilled'],
    ['log-count', '5', 5],
    ['log-stream', 'stderr', 'stderr'],
  ];
  for (const [name, given, value] of accepted) t.same(settingTable[name].parse(given), value, `${name}: ${given}`);
  const refused: readonly (readonly [keyof typeof settingTable, unknown, string])[] = [
    ['start-latency', 'soon', '"soon" is not a duration such as 1.5s, 200ms or 2m'],
    ['start-latency', '-1s', '"-1s" is not a duration such as 1.5s, 200ms or 2m'],
    ['exit-code', '256', '"256" is not a whole number from 0 to 255'],
    ['exit-code', '1,,0', '"" is not a whole number from 0 to 255'],
    ['exit-code', [], 'a list of 0 values: from 1 to 100 are possible'],
    ['log-stream', 'both', '"both" is none of stdout, stderr'],
    ['log', {}, '{} is not a text'],
    ['cpu', 'much', '"much" is not an amount such as 250m, 64Mi or 80%'],
    ['cpu', '1s=1,2', '"2" has no time: write points as 5m=900m'],
    ['cpu', '2s=1,1s=2', '"2s=1,1s=2": the times of its points go back'],
    ['cpu', 'wave(1,2,0s)', '"wave(1,2,0s)" has no period'],
    ['http', '{/: 99}', '"/": "99" is not a whole number from 200 to 599'],
    ['http', '{/: {code: 200}}', '"/": unknown member "code": there are status, body, headers, latency, until'],
    ['http', '{/: {headers: {a b: c}}}', '"/": "a b" is not a header'],
    ['http', '[', '"[" is not YAML: yaml: line 1: did not find expected node'],
    ['exec', 'ls', '"ls" is not a map of answers by command'],
  ];
  for (const [name, given, message] of refused)
    t.throws(() => settingTable[name].parse(given), new SettingError(message), `${name}: ${given}`);
});

t.test('the last value is that of later attempts', async (t) => {
  t.same(
    [0, 1, 2, 9].map((attempt) => ofAttempt([1, 1, 0], attempt)),
    [1, 1, 0, 0],
  );
  t.equal(ofAttempt(undefined, 0), undefined);
});

t.test('asterisks stand for any characters, as in regular expressions', async (t) => {
  const random = seededRandom(7);
  const some = (letters: string, most: number) =>
    Array.from({ length: Math.floor(random() * most) }, () => letters[Math.floor(random() * letters.length)]).join('');
  for (let i = 0; i < 3000; i++) {
    const pattern = some('ab*', 6);
    const text = some('ab', 8);
    const reference = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text);
    if (matchesGlob(pattern, text) !== reference) t.fail(`${pattern} with ${text}`);
  }
});

t.test('use follows lines, steps and waves', async (t) => {
  const of = (text: string, request?: number) => new Usage(usageProfile(text), request);
  const cases: readonly (readonly [Usage, readonly (readonly [ms: number, amount: number])[]])[] = [
    [
      of('250m'),
      [
        [0, 0.25],
        [1e6, 0.25],
      ],
    ],
    [of('50%', 4), [[0, 2]]],
    [of('50%'), [[0, 0]]],
    [
      of('10s=1, 20s=3'),
      [
        [0, 1],
        [10_000, 1],
        [15_000, 2],
        [30_000, 3],
      ],
    ],
    [
      of('0s=1, 10s=1, 10s=5'),
      [
        [9999, 1],
        [10_000, 5],
        [20_000, 5],
      ],
    ],
    [
      of('wave(1, 3, 4s)'),
      [
        [0, 1],
        [1000, 2],
        [2000, 3],
        [4000, 1],
      ],
    ],
  ];
  for (const [usage, points] of cases)
    for (const [ms, amount] of points) t.equal(Math.round(usage.at(ms) * 1e9) / 1e9, amount, `at ${ms} ms`);
});

t.test('the total is the sum of small steps, and the limit is exceeded where they exceed it', async (t) => {
  for (const text of ['2', '5s=1, 20s=3, 20s=0, 40s=9', 'wave(1, 4, 30s)', 'wave(4, 1, 7s)', '0s=0, 10s=8']) {
    const usage = new Usage(usageProfile(text));
    let sum = 0;
    let over: number | undefined;
    for (let ms = 0; ms < 60_000; ms += 5) {
      sum += usage.at(ms + 2.5) * 5;
      if (over === undefined && usage.at(ms) > 2.5) over = ms;
    }
    t.ok(Math.abs(usage.total(60_000) - sum) < sum * 0.002, `${text}: ${usage.total(60_000)} is about ${sum}`);
    const exceeds = usage.exceeds(2.5);
    t.equal(exceeds === undefined, over === undefined, text);
    if (exceeds !== undefined) t.ok(Math.abs(exceeds - (over ?? 0)) <= 10, `${text}: ${exceeds} is about ${over}`);
  }
});

t.test('answers to paths and commands', async (t) => {
  const http = httpAnswers('{"/api/*": {body: api}, "/api/x": 201, "/ready": [{until: 10s, status: 503}, 200]}');
  const statuses = ['/api/x?y=1', '/api/z', '/ready', '/'].map((path) => httpAnswerFor(http, path, 0).status);
  t.same(statuses, [201, 200, 503, 404]);
  t.equal(httpAnswerFor(http, '/ready', 10_000).status, 200);
  t.equal(httpAnswerFor(httpAnswers(503), '/any', 0).status, 503);
  const exec = execAnswers({ 'cat /v': '1', 'fail *': { stderr: 'no', 'exit-code': 2 }, code: 3 });
  t.match(answerFor(exec, 'cat /v'), { stdout: '1', exitCode: 0 });
  t.match(answerFor(exec, 'fail now'), { stderr: 'no', exitCode: 2 });
  t.match(answerFor(exec, 'code'), { exitCode: 3 });
  t.equal(answerFor(exec, 'other'), undefined);
});

t.test('rules match pods and containers', async (t) => {
  const pod = { namespace: 'shop', name: 'web-1', labels: { app: 'web' }, owner: 'ReplicaSet' };
  const main = { name: 'main', image: 'example.com/web:1' };
  const cases: readonly (readonly [match: string, ofPod: boolean, ofContainer: boolean])[] = [
    ['{}', true, true],
    ['{namespace: shop, name: "web-*", owner: ReplicaSet}', true, true],
    ['{namespace: s}', false, true],
    ['{labels: {app: web}}', true, true],
    ['{labels: "app in (web, db),!x"}', true, true],
    ['{labels: {app: db}}', false, true],
    ['{owner: Job}', false, true],
    ['{image: "*/web:*"}', true, true],
    ['{container: other}', true, false],
  ];
  for (const [match, ofPod, ofContainer] of cases) {
    const [rule] = parseRules(`[{match: ${match}, behaviour: {exit-code: 1}}]`).rules;
    if (rule === undefined) throw new Error('a rule is expected');
    t.equal(matchesPod(rule, pod), ofPod, `${match}: the pod`);
    t.equal(matchesContainer(rule, main), ofContainer, `${match}: the container`);
  }
});

t.test('faults of rules name the field', async (t) => {
  const cases: readonly (readonly [text: string, faults: readonly string[]])[] = [
    ['a', ['a list of rules is expected: rules: [{match: …, behaviour: …}]']],
    ['{rules: [], other: 1}', ['a list of rules is expected: rules: [{match: …, behaviour: …}]']],
    ['[1]', ['rules[0]: 1 is not a rule with match and behaviour']],
    ['[{match: {nam: x}}]', ['rules[0].match.nam: unknown field', 'rules[0].behaviour: a map of settings is required']],
    [
      '[{behaviour: {exit-after: soon}}, {behaviour: {log-count: -1}}]',
      [
        'rules[0].behaviour.exit-after: "soon" is not a duration such as 1.5s, 200ms or 2m',
        'rules[1].behaviour.log-count: "-1" is not a whole number from 0 to 1000000',
      ],
    ],
    [
      '[{match: {container: a}, behaviour: {sandbox-latency: 1s}}]',
      ['rules[0].behaviour.sandbox-latency: is of whole pods, and the rule matches containers'],
    ],
  ];
  for (const [text, faults] of cases) t.throws(() => parseRules(text), new RulesError(faults), text);
  t.throws(() => parseRules('[{behaviour: {exit: 1}}]'), /^rules\[0\]\.behaviour\.exit: unknown setting; there are /);
  t.same(parseRules('').rules, []);
});

t.test('docs/testing.md explains each setting, and no other', async (t) => {
  const text = await readFile(new URL('../../../../../docs/testing.md', import.meta.url), 'utf8');
  const from = text.indexOf('\n| name | value | effect |');
  const table = text.slice(from, text.indexOf('\n\n', from + 1));
  const rows = [...table.matchAll(/^\| `([^`]+)` \| ([^|]+) \| [^|]+ \|$/gm)].map(([, name = '', value = '']) => ({
    name,
    value,
  }));
  t.same(
    rows.map(({ name }) => name),
    Object.keys(settingTable),
    'in the order of the code',
  );
  const examples: Readonly<Record<string, string>> = {
    duration: '1.5s',
    'duration, `never`': 'never',
    message: 'no space',
    number: '3',
    'durations, `never`': '1s, never',
    codes: '1,1,0',
    text: 'done',
    '`stdout`, `stderr`': 'stderr',
    use: 'wave(100m, 900m, 10m)',
    answers: "{ '/x': 200 }",
  };
  for (const { name, value } of rows) {
    const example = examples[value];
    const { parse } = settingTable[name as keyof typeof settingTable];
    if (example === undefined) t.fail(`${name}: the table of this test has no example of ${value}`);
    else t.doesNotThrow(() => parse(example), `${name} may be ${value}`);
  }
});
