import t from 'tap';
import { RecurringValues } from '#storage/cache/recurring-values.js';

const bytesOf = (value: object): Buffer => Buffer.from(JSON.stringify(value));
const large = (name: string) => ({
  name,
  parts: Array.from({ length: 60 }, (_, i) => ({ index: i, text: `part ${i}` })),
});
const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen));

t.test('what comes again is one value, which nobody can change', async (t) => {
  const values = new RecurringValues();
  const bytes = bytesOf(large('a'));
  for (let i = 0; i < 4; i++) t.strictSame(values.of(bytes), large('a'));
  const known = values.of(Buffer.from(bytes));
  t.equal(values.of(bytes), known);
  t.ok(isFrozen(known));
  // The buffer is somebody else's, and used again.
  const passing = Buffer.from(bytes);
  t.equal(values.of(passing), known);
  passing.fill(0x20);
  t.equal(values.of(bytes), known);
});

t.test('whatever comes, it is what the bytes say', async (t) => {
  const values = new RecurringValues();
  for (let round = 0; round < 5; round++) {
    // More than there are slots, and some that differ in a few bytes only.
    for (let i = 0; i < 600; i++) {
      const value = large(`value-${i}`);
      const found = values.of(bytesOf(value));
      if (JSON.stringify(found) !== JSON.stringify(value)) t.strictSame(found, value);
    }
  }
  t.notOk(values.concern(511));
  t.ok(values.concern(512));
  t.notOk(values.concern(8193));
});
