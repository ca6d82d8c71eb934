import t from 'tap';
import { invalid } from '#apimachinery/errors/status.js';
import { duplicate, invalidValue, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const kind = { group: 'apps', kind: 'Deployment' };
const path = FieldPath.of('spec').child('parts');

t.test('a usual number of failures is reported completely', async (t) => {
  const { status } = invalid(kind, 'web', [invalidValue(path, ['a', { b: 1 }], 'is bad'), required(path)]);
  t.strictSame(
    status.message,
    'Deployment.apps "web" is invalid: [spec.parts: Invalid value: ["a",{"b":1}]: is bad, spec.parts: Required value]',
  );
  t.strictSame(status.details?.causes, [
    { reason: 'FieldValueInvalid', message: 'Invalid value: ["a",{"b":1}]: is bad', field: 'spec.parts' },
    { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.parts' },
  ]);
  t.equal(JSON.parse(JSON.stringify(required(path))).field, 'spec.parts');
});

t.test('of many failures the first are reported and the rest counted', async (t) => {
  const failures = Array.from({ length: 50_000 }, (_, i) => duplicate(path.index(i), 'a'));
  const { status } = invalid(kind, 'web', failures);
  t.equal(status.details?.causes?.length, 1000);
  t.match(status.message, /spec\.parts\[999\]: Duplicate value: "a", … and 49000 more\]$/);
});

t.test('failures with the same huge value stay small', async (t) => {
  const huge = Array.from({ length: 100_000 }, (_, i) => ({ name: `part-${i}`, text: 'é'.repeat(100) }));
  const values: Record<string, unknown> = {
    list: huge,
    map: Object.fromEntries(huge.map(({ name, text }) => [name, text])),
    text: 'x'.repeat(3_000_000),
    key: { ['k'.repeat(3_000_000)]: 1 },
    pairs: '🚀'.repeat(1_000_000),
  };
  for (const [name, value] of Object.entries(values)) {
    const failures = Array.from({ length: 10_000 }, () => invalidValue(path, value, 'is bad'));
    const { status } = invalid(kind, name, failures);
    t.ok(JSON.stringify(status).length < 2_000_000, name);
    t.match(failures[0]?.message, '…');
    t.notMatch(Buffer.from(status.message ?? '').toString(), '\ufffd', name);
  }
});

t.test('huge names and paths are truncated', async (t) => {
  const long = 'n'.repeat(3_000_000);
  const { status } = invalid(kind, long, [required(path.key(long))]);
  t.ok(JSON.stringify(status).length < 20_000);
});
