import t from 'tap';
import { PatternMatcher } from '#api/apiextensions/v1/values/pattern.js';
import { Patterns, patternError } from '#apimachinery/patterns/pattern.js';

t.test('patterns with exponential backtracking in other engines match in linear time', (t) => {
  const patterns = new PatternMatcher(new Patterns());
  t.equal(patterns.matches('^(a+)+$', `${'a'.repeat(1000)}!`), false);
  t.equal(patterns.matches('^(a+)+$', 'a'.repeat(1000)), true);
  t.end();
});

t.test('each object has a fixed budget of steps', (t) => {
  const kept = new Patterns();
  const patterns = new PatternMatcher(kept);
  const text = 'a'.repeat(300_000);
  t.same(
    Array.from({ length: 5 }, () => patterns.matches('^a*$', text)),
    [true, true, true, undefined, undefined],
  );
  t.equal(patterns.matches('^a$', 'a'), undefined, 'fast patterns are refused too');
  const next = new PatternMatcher(kept);
  t.equal(next.matches('^a$', 'a'), true, 'another object has its own budget');
  t.equal(next.matches('^(?:a{100}b?){9}$', text), undefined, 'patterns with many states use more steps');
  t.end();
});

t.test('very large patterns use up the budget sooner', (t) => {
  const patterns = new PatternMatcher(new Patterns());
  const text = 'a'.repeat(500);
  t.equal(patterns.matches('^(a?){1000}$', text), true, 'once');
  t.equal(patterns.matches('^(a?){1000}$', text), true, 'twice');
  t.equal(patterns.matches('^(a?){1000}$', text), undefined, 'and no more');
  const others = new PatternMatcher(new Patterns());
  const results = Array.from({ length: 100 }, () => others.matches('^[a-z]{1,1000}$', 'short'));
  t.ok(
    results.every((result) => result === true),
    'short texts may be many',
  );
  t.end();
});

t.test('patterns have the syntax and errors of RE2', (t) => {
  const rows: [pattern: string, wrong: string | undefined][] = [
    ['^[a-z]+$', undefined],
    ['(?i)abc', undefined],
    ['(?P<name>a)\\z', undefined],
    ['[[:alpha:]]\\pL\\Qa.b\\E', undefined],
    ['(', 'error parsing regexp: missing closing ): `(`'],
    ['[b-a]', 'error parsing regexp: invalid character class range: `b-a`'],
    ['(?=a)', 'error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
    ['(a)\\1', 'error parsing regexp: invalid escape sequence: `\\1`'],
    ['a{1001}', 'error parsing regexp: invalid repeat count: `{1001}`'],
    ['*', 'error parsing regexp: missing argument to repetition operator: `*`'],
  ];
  for (const [pattern, wrong] of rows) t.equal(patternError(pattern), wrong, pattern);
  t.end();
});
