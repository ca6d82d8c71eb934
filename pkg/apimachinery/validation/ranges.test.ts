import t from 'tap';
import { message, optional, pointer, required } from '#apimachinery/schema/language.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { inWords, rangesOf, servicePortWording, wordedRangesOf } from '#apimachinery/validation/ranges.js';

const type = message('Numbers.', {
  port: required(1, 'int32', { minimum: 1, maximum: 65535 }, 'A port.'),
  hostPort: optional(2, 'int32', { minimum: 1, maximum: 65535 }, 'A port, or none.'),
  count: pointer(3, 'int32', { minimum: 0 }, 'A count.'),
  seconds: pointer(4, 'int32', { minimum: 1 }, 'A time.'),
  free: optional(5, 'int32', 'A number.'),
});
const check = rangesOf(type, 'port', 'hostPort', 'count', 'seconds');

function failures(message: object): string[] {
  return check(message, FieldPath.of('spec')).map(({ field, message }) => `${field}: ${message}`);
}

t.test('numbers are checked against declared ranges', async (t) => {
  t.strictSame(failures({ port: 1 }), []);
  t.strictSame(failures({ port: 65535, hostPort: 0, count: 0, seconds: 1, free: -1 }), []);
  t.strictSame(failures({}), ['spec.port: Invalid value: 0: must be between 1 and 65535, inclusive']);
  t.strictSame(failures({ port: 65536, hostPort: -1, count: -1, seconds: 0 }), [
    'spec.port: Invalid value: 65536: must be between 1 and 65535, inclusive',
    'spec.hostPort: Invalid value: -1: must be between 1 and 65535, inclusive',
    'spec.count: Invalid value: -1: must be greater than or equal to 0',
    'spec.seconds: Invalid value: 0: must be greater than 0',
  ]);
});

t.test('a field without a range cannot be checked', async (t) => {
  t.throws(() => rangesOf(type, 'free'), new RangeError('free has no range'));
  t.throws(() => rangesOf(type, 'missing'), new RangeError('missing has no range'));
});

t.test('some fields have other messages', async (t) => {
  const texts = (check: typeof checkBounds, message: object) =>
    check(message, FieldPath.of('spec')).map((failure) => failure.message);
  const bounded = message('Numbers.', {
    value: required(1, 'int32', { minimum: 1, maximum: 1800 }, 'A number.'),
    window: pointer(2, 'int32', { minimum: 0, maximum: 3600 }, 'A number.'),
  });
  const checkBounds = wordedRangesOf(bounded, inWords, 'value', 'window');
  t.strictSame(texts(checkBounds, { value: 1800, window: 0 }), []);
  t.strictSame(texts(checkBounds, { window: -1 }), [
    'Invalid value: 0: must be greater than zero',
    'Invalid value: -1: must be greater than or equal to zero',
  ]);
  t.strictSame(texts(checkBounds, { value: 1801, window: 3601 }), [
    'Invalid value: 1801: must be less than or equal to 1800',
    'Invalid value: 3601: must be less than or equal to 3600',
  ]);
  t.strictSame(texts(wordedRangesOf(type, servicePortWording, 'port'), { port: 0 }), [
    'Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
  ]);
});
