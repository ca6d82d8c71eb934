import t from 'tap';
import {
  cIdentifierErrors,
  configKeyErrors,
  dns1035LabelErrors,
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  envVarNameErrors,
  labelValueErrors,
  maskTrailingDash,
  type NameValidator,
  pathSegmentErrors,
  percentErrors,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
  wildcardSubdomainErrors,
} from '#apimachinery/validation/names.js';

const long = (n: number): string => 'a'.repeat(n);

/** All texts up to a length of the relevant characters. */
function textsOf(length: number): string[] {
  const characters = ['a', 'Z', '0', '-', '.', '_', '/', '*', '\n', 'é'];
  let texts = [''];
  const all = [''];
  for (let i = 0; i < length; i++) {
    texts = texts.flatMap((text) => characters.map((character) => text + character));
    all.push(...texts);
  }
  return all;
}

t.test('names are valid exactly if they match the pattern in the message', (t) => {
  const shown = (errors: readonly string[]): string => /validation is '(.*)'\)$/.exec(errors.at(-1) ?? '')?.[1] ?? '?';
  const subdomain = shown(dns1123SubdomainErrors('!'));
  const rows: [string, NameValidator, string][] = [
    ['label', dns1123LabelErrors, shown(dns1123LabelErrors('!'))],
    ['subdomain', dns1123SubdomainErrors, subdomain],
    ['label with a letter first', dns1035LabelErrors, shown(dns1035LabelErrors('!'))],
    ['wildcard', wildcardSubdomainErrors, shown(wildcardSubdomainErrors('!'))],
    ['label value', labelValueErrors, shown(labelValueErrors('!'))],
    ['qualified name', qualifiedNameErrors, `(${subdomain}/)?${shown(qualifiedNameErrors('!'))}`],
    ['environment variable', envVarNameErrors, `(?!\\.$|\\.\\.)${shown(envVarNameErrors('!'))}`],
    ['config key', configKeyErrors, `(?!\\.$|\\.\\.)${shown(configKeyErrors('!'))}`],
    ['port', portNameErrors, '(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?'],
  ];
  const texts = textsOf(4);
  for (const [name, validate, pattern] of rows) {
    const fits = new RegExp(`^(?:${pattern})$`);
    const wrong = texts.filter((text) => fits.test(text) !== (validate(text).length === 0));
    t.strictSame(wrong, [], name);
  }
  t.end();
});

t.test('valid and invalid names', (t) => {
  const rows: [string, NameValidator, string[], string[]][] = [
    [
      'label',
      dns1123LabelErrors,
      ['a', '0', 'a-b', '1-a', long(63)],
      ['', '-a', 'a-', 'A', 'a.b', 'a_b', long(64), 'a\n'],
    ],
    ['1035', dns1035LabelErrors, ['a', 'a-1'], ['', '1a', 'a-', 'A', long(64)]],
    [
      'subdomain',
      dns1123SubdomainErrors,
      ['a', 'a.b', '1.2-3.c'],
      ['', '.', 'a.', '.a', 'a..b', 'a.-b', 'A.b', long(254)],
    ],
    ['wildcard', wildcardSubdomainErrors, ['*.a.b', '*.a'], ['*', '*.', 'a.b', '*.*.a', '*.A']],
    [
      'qualified',
      qualifiedNameErrors,
      ['a', 'A_b.c-d', 'x.io/Name', long(63)],
      ['', '/', 'a/', '/a', 'a/b/c', 'A/b', '-a', long(64)],
    ],
    ['label value', labelValueErrors, ['', 'a', 'A_b.c', long(63)], ['-a', 'a-', 'a b', long(64)]],
    ['path', pathSegmentErrors, ['a', 'system:x', 'A B', '...'], ['.', '..', 'a/b', 'a%b']],
    ['env', envVarNameErrors, ['A', '_a', 'a.b-c', '-a', '.a'], ['', '1a', 'a=b', '.', '..', '..a']],
    ['key', configKeyErrors, ['a', '1', '.a', 'A_b-c.d'], ['', '.', '..', '..a', 'a/b', 'a b', long(254)]],
    ['C', cIdentifierErrors, ['a', '_A1'], ['', '1a', 'a-b']],
    ['percent', percentErrors, ['0%', '150%'], ['', '%', '1', '-1%', '1.5%']],
    ['port', portNameErrors, ['http', 'a-1', '8080a'], ['', '80', 'A', 'a--b', '-a', 'a-', long(16)]],
  ];
  for (const [name, validate, good, bad] of rows) {
    for (const value of good) t.strictSame(validate(value), [], `${name}: ${value}`);
    for (const value of bad) t.not(validate(value).length, 0, `${name}: not ${JSON.stringify(value)}`);
  }
  for (const value of [0, -1, 65536]) t.strictSame(portNumberErrors(value), ['must be between 1 and 65535, inclusive']);
  for (const value of [1, 65535]) t.strictSame(portNumberErrors(value), []);
  t.end();
});

t.test('messages are those of 1.24', (t) => {
  const qualified =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  t.strictSame(qualifiedNameErrors('-a'), [`name part ${qualified}`]);
  t.strictSame(qualifiedNameErrors('/a'), ['prefix part must be non-empty']);
  t.strictSame(qualifiedNameErrors('a/'), ['name part must be non-empty', `name part ${qualified}`]);
  t.strictSame(qualifiedNameErrors('a/b/c'), [
    `a qualified name ${qualified} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ]);
  t.strictSame(labelValueErrors('a b'), [
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ]);
  t.strictSame(dns1035LabelErrors('1'), [
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ]);
  t.strictSame(dns1123LabelErrors(long(64)), ['must be no more than 63 characters']);
  t.strictSame(pathSegmentErrors('a/b%'), ["may not contain '/'", "may not contain '%'"]);
  t.strictSame(pathSegmentErrors('..'), ["may not be '..'"]);
  t.end();
});

t.test('a generated name may end in a dash', (t) => {
  t.strictSame(dns1123LabelErrors(maskTrailingDash('web-')), []);
  t.strictSame(dns1123LabelErrors(maskTrailingDash('a-')), []);
  t.equal(maskTrailingDash('web'), 'web');
  t.equal(maskTrailingDash('-'), '-');
  t.end();
});
