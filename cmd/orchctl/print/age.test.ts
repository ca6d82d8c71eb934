import t from 'tap';
import { ageOf, humanDuration } from '#cmd/orchctl/print/age.js';

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

for (const [ms, text] of [
  [-5 * second, '0s'],
  [0, '0s'],
  [119 * second, '119s'],
  [2 * minute, '2m'],
  [3 * minute + 20 * second, '3m20s'],
  [10 * minute, '10m'],
  [179 * minute, '179m'],
  [3 * hour, '3h'],
  [7 * hour + 59 * minute, '7h59m'],
  [8 * hour, '8h'],
  [47 * hour, '47h'],
  [2 * day, '2d'],
  [3 * day + 5 * hour, '3d5h'],
  [8 * day, '8d'],
  [729 * day, '729d'],
  [730 * day, '2y'],
  [800 * day, '2y70d'],
  [9 * 365 * day, '9y'],
] as const) {
  t.equal(humanDuration(ms), text, text);
}

t.equal(ageOf(undefined, 0), '<unknown>');
t.equal(ageOf('not a time', 0), '<unknown>');
t.equal(ageOf('1970-01-01T00:00:00Z', 5000), '5s');
