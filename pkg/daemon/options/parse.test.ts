import t from 'tap';
import { overlayConfig } from '#daemon/options/config-file.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';

const table = {
  name: { type: 'string', section: 'A', meaning: 'A name.' },
  level: { type: 'string', default: 'low', oneOf: ['low', 'high'], section: 'A', meaning: 'A level.' },
  on: { type: 'bool', section: 'A', meaning: 'A switch.', shorthand: 'o' },
  off: { type: 'bool', default: true, section: 'A', meaning: 'Another switch.' },
  count: { type: 'int', default: 7, section: 'B', meaning: 'A number.', shorthand: 'c', configField: 'spec.count' },
  rate: { type: 'float', default: 0.5, section: 'B', meaning: 'A rate.' },
  'wait-time': { type: 'duration', default: 15_000, section: 'B', meaning: 'A wait.', configField: 'spec.wait' },
  lists: { type: 'strings', default: ['x'], section: 'B', meaning: 'A list.', configField: 'lists' },
  whole: { type: 'stringArray', section: 'B', meaning: 'A list without commas.' },
  pairs: { type: 'map', section: 'B', meaning: 'Pairs.' },
  gates: { type: 'boolMap', section: 'B', meaning: 'Gates.' },
  old: { type: 'bool', section: 'B', meaning: 'An old switch.', deprecated: 'use --on instead.' },
  idle: { type: 'int', section: 'B', meaning: 'Nothing.', inert: 'nothing is done' },
  vain: { type: 'int', section: 'B', meaning: 'Nothing.', inert: 'there is nothing to do' },
  guard: { type: 'string', section: 'B', meaning: 'A guard.', inert: 'no guard is there', protects: true },
  shield: {
    type: 'string',
    default: 'none',
    inertUnless: ['none'],
    section: 'B',
    meaning: 'A shield.',
    inert: 'no shield is there',
  },
} as const satisfies OptionTable;

function parse(...argv: string[]): ParsedOptions<typeof table> {
  const result = parseOptions(table, argv, { program: 'prog' });
  if (result.kind !== 'run') throw new Error(result.kind);
  return result;
}

function errors(...argv: string[]): readonly string[] {
  try {
    parse(...argv);
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
  return [];
}

t.test('options that are not set have their defaults', async (t) => {
  t.same(parse().values, {
    name: undefined,
    level: 'low',
    on: false,
    off: true,
    count: 7,
    rate: 0.5,
    'wait-time': 15_000,
    lists: ['x'],
    whole: [],
    pairs: {},
    gates: {},
    old: false,
    idle: 0,
    vain: 0,
    guard: undefined,
    shield: 'none',
  });
});

t.test('options may be written in several forms', async (t) => {
  const rows: [string, string[], Partial<Record<keyof typeof table, unknown>>][] = [
    ['equals', ['--name=a=b'], { name: 'a=b' }],
    ['separate', ['--name', 'a'], { name: 'a' }],
    ['separate negative', ['--count', '-3'], { count: -3 }],
    ['empty', ['--name='], { name: '' }],
    ['bool alone', ['--on'], { on: true }],
    ['bool takes no separate value', ['--on', '--off=false'], { on: true, off: false }],
    ['underscores', ['--wait_time=1m30s'], { 'wait-time': 90_000 }],
    ['shorthand attached', ['-c9'], { count: 9 }],
    ['shorthand equals', ['-c=9'], { count: 9 }],
    ['shorthand separate', ['-c', '9'], { count: 9 }],
    ['shorthands together', ['-oc9'], { on: true, count: 9 }],
    ['hexadecimal', ['--count=0x10'], { count: 16 }],
    ['float', ['--rate=1e-2'], { rate: 0.01 }],
    ['last one wins', ['--count=1', '--count=2'], { count: 2 }],
    ['lists replace the default and add up', ['--lists=a,b', '--lists', 'c'], { lists: ['a', 'b', 'c'] }],
    ['quoted commas', ['--lists="a,b",c'], { lists: ['a,b', 'c'] }],
    ['whole', ['--whole=a,b', '--whole=c'], { whole: ['a,b', 'c'] }],
    ['pairs', ['--pairs=a=1,b=2=3', '--pairs=c='], { pairs: { a: '1', b: '2=3', c: '' } }],
    ['gates', ['--gates=A=true,B=false'], { gates: { A: true, B: false } }],
    ['duration', ['--wait-time=1h15m0.5s'], { 'wait-time': 4_500_500 }],
  ];
  for (const [name, argv, expected] of rows) t.match(parse(...argv).values, expected, name);
});

t.test('values are deeply frozen, and set options are listed', async (t) => {
  const { values, given } = parse('--lists=a', '--wait_time=1s');
  t.throws(() => {
    (values.lists as string[]).push('b');
  });
  t.same([...given], ['lists', 'wait-time']);
});

t.test('all errors are reported at once, in the usual words', async (t) => {
  t.same(
    errors('--nmae=x', '--count=x', '--rate=x', '--on=x', '--wait-time=5', '--level=mid', 'stray', '-z', '--name'),
    [
      'unknown flag: --nmae (did you mean --name?)',
      'invalid argument "x" for "-c, --count" flag: strconv.ParseInt: parsing "x": invalid syntax',
      'invalid argument "x" for "--rate" flag: strconv.ParseFloat: parsing "x": invalid syntax',
      'invalid argument "x" for "-o, --on" flag: strconv.ParseBool: parsing "x": invalid syntax',
      'invalid argument "5" for "--wait-time" flag: time: missing unit in duration "5"',
      'invalid argument "mid" for "--level" flag: must be one of: low, high',
      "unknown shorthand flag: 'z' in -z",
      'flag needs an argument: --name',
    ],
  );
  t.same(errors('stray', 'a b'), ['"prog" does not take any arguments, got ["stray" "a b"]']);
  t.same(errors('--constructor=1', '--pairs=a'), [
    'unknown flag: --constructor',
    'invalid argument "a" for "--pairs" flag: malformed pair, expect string=string',
  ]);
  t.same(
    errors('--unknown-thing', 'value'),
    ['unknown flag: --unknown-thing'],
    'the value of an unknown option is not a second error',
  );
  t.same(errors('--count=99999999999999999999'), [
    'invalid argument "99999999999999999999" for "-c, --count" flag: strconv.ParseInt: parsing "99999999999999999999": value out of range',
  ]);
});

t.test('help and version take precedence over other options', async (t) => {
  t.same(parseOptions(table, ['--count=1', '-h'], { program: 'prog' }), { kind: 'help' });
  t.same(parseOptions(table, ['--help', '--bad'], { program: 'prog' }), { kind: 'help' });
  t.same(parseOptions(table, ['--version'], { program: 'prog' }), { kind: 'version', raw: false });
  t.same(parseOptions(table, ['--version=raw'], { program: 'prog' }), { kind: 'version', raw: true });
});

t.test('deprecated and inert options cause warnings', async (t) => {
  t.same(parse('--old', '--idle=3', '--vain=3').warnings, [
    'Flag --old has been deprecated, use --on instead.',
    'Flag --idle has no effect: nothing is done',
    'Flag --vain has no effect: there is nothing to do',
  ]);
});

t.test('an inert option that protects something is refused, after all rules', async (t) => {
  const parsed = parse('--guard=x', '--vain=3', '--count=0');
  const text = 'Flag --guard has no effect: no guard is there; it protects the cluster, so the start ends here';
  t.same(parsed.warnings, ['Flag --vain has no effect: there is nothing to do']);
  t.same(parsed.refusals, [text]);
  const refused = (rules: readonly string[]) => {
    try {
      validateOptions(parsed, [() => rules]);
    } catch (error) {
      if (error instanceof OptionsError) return error.messages;
      throw error;
    }
    return [];
  };
  t.same(refused([]), [text]);
  t.same(refused(['--count must be greater than zero']), ['--count must be greater than zero']);
});

t.test('an inert option set to what happens anyway needs neither', async (t) => {
  const { warnings, refusals } = parse('--guard=', '--idle=0', '--shield=none');
  t.same([...warnings, ...refusals], []);
  t.same(parse('--shield=wood').warnings, ['Flag --shield has no effect: no shield is there']);
});

t.test('arguments and everything after -- are returned', async (t) => {
  const result = parseOptions(table, ['a', '--on', '--', '--name'], { program: 'prog', allowArgs: true });
  t.match(result, { args: ['a', '--name'], values: { on: true } });
});

t.test('the command line overrides a config file', async (t) => {
  const config = { spec: { count: 3, wait: '2m' }, lists: ['p', 'q'] };
  t.match(overlayConfig(table, parse('--count=5'), config).values, {
    count: 5,
    'wait-time': 120_000,
    lists: ['p', 'q'],
  });
  try {
    overlayConfig(table, parse(), { spec: { count: 'x' }, lists: [1] });
    t.fail('must throw');
  } catch (error) {
    t.match(error, {
      messages: [
        'spec.count: Invalid value: "x": strconv.ParseInt: parsing "x": invalid syntax',
        'lists: Invalid value: [1]: must be of type strings',
      ],
    });
  }
});
