import t from 'tap';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  isQuantity,
  milliValue,
  parseQuantity,
  quantityFromMilliValue,
  quantityFromValue,
  quantitySign,
  roundUpToMilli,
  subtractQuantities,
  value,
} from '#apimachinery/quantity.js';

t.test('quantities have the canonical form of 1.24', async (t) => {
  const rows: [string, string][] = [
    ['0', '0'],
    ['0m', '0'],
    ['000', '0'],
    ['0Ki', '0'],
    ['1', '1'],
    ['007', '7'],
    ['+5', '5'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1.', '1'],
    ['1.25', '1250m'],
    ['1000', '1k'],
    ['1500', '1500'],
    ['1000k', '1M'],
    ['1024Mi', '1Gi'],
    ['1536Mi', '1536Mi'],
    ['1.5Gi', '1536Mi'],
    ['1024', '1024'],
    ['1023Ki', '1023Ki'],
    ['0.5Ki', '512'],
    ['0.1Gi', '107374182400m'],
    ['0.0001Ki', '102400u'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['1e-3', '1e-3'],
    ['12e5', '1200e3'],
    ['1E', '1E'],
    ['1000E', '1000E'],
    ['-1500m', '-1500m'],
    ['-2Gi', '-2Gi'],
    ['100Ei', '9223372036854775807'],
  ];
  for (const [text, want] of rows) t.equal(canonicalQuantity(text), want, `${text} → ${want}`);
});

t.test('invalid quantities are refused', async (t) => {
  for (const text of ['', ' 1', '1 ', 'x', '.', '-', '1.2.3', '1kk', '1i', '1e', '1e+', '1KI', '1e999', '1,5', '٣']) {
    t.equal(isQuantity(text), false, JSON.stringify(text));
    t.throws(() => parseQuantity(text), { name: 'QuantityError' });
  }
  t.throws(() => parseQuantity('9'.repeat(300)), /must match the regular expression/);
});

t.test('values round away from zero', async (t) => {
  const rows: [string, number, number][] = [
    ['1', 1, 1000],
    ['1500m', 2, 1500],
    ['1n', 1, 1],
    ['-1n', -1, -1],
    ['1Gi', 1073741824, 1073741824000],
    ['0.5', 1, 500],
    ['100k', 100000, 100000000],
    ['1u', 1, 1],
    ['2e3', 2000, 2000000],
  ];
  for (const [text, units, millis] of rows) {
    t.equal(value(text), units, `value of ${text}`);
    t.equal(milliValue(text), millis, `milliValue of ${text}`);
  }
  t.equal(value('8Ei'), 2 ** 63);
});

t.test('arithmetic keeps the suffix family of the left operand', async (t) => {
  t.equal(addQuantities('1Gi', '1Gi'), '2Gi');
  t.equal(addQuantities('0', '1Gi'), '1Gi');
  t.equal(addQuantities('100m', '900m'), '1');
  t.equal(subtractQuantities('1Gi', '512Mi'), '512Mi');
  t.equal(subtractQuantities('1', '1500m'), '-500m');
  t.equal(compareQuantities('1Gi', '1024Mi'), 0);
  t.ok(compareQuantities('1G', '1Gi') < 0);
  t.ok(compareQuantities('1001m', '1') > 0);
  t.equal(quantitySign('-1m'), -1);
  t.equal(quantityFromValue(1073741824, 'BinarySI'), '1Gi');
  t.equal(quantityFromMilliValue(1500), '1500m');
  t.equal(roundUpToMilli('1u'), '1m');
});

t.test('the fast paths agree with exact arithmetic', async (t) => {
  const suffixes = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
  for (const suffix of suffixes) {
    for (const digits of [0, 1, 2, 999, 1000, 1001, 1024, 4096, 1000000, 1048576, 123456789]) {
      const { nanos } = parseQuantity(`+${digits}${suffix}`);
      const up = (by: bigint) => Number((nanos + by - 1n) / by);
      const text = `${digits}${suffix}`;
      t.equal(value(text), up(1_000_000_000n), `value of ${text}`);
      t.equal(milliValue(text), up(1_000_000n), `milliValue of ${text}`);
      t.equal(canonicalQuantity(text), canonicalQuantity(`+${text}`), `canonical form of ${text}`);
    }
  }
});
