import t from 'tap';
import { backupName, backupsOf, expired } from '#apiserver/audit/backups.js';

const path = '/var/log/audit.log';
const day = 24 * 3_600_000;
const now = Date.parse('2022-05-03T10:20:30.123Z');

t.test('names of files that were put aside', async (t) => {
  t.equal(backupName(path, now), '/var/log/audit-2022-05-03T10-20-30.123.log');
  const names = [
    'audit.log',
    'audit-2022-05-01T00-00-00.000.log.gz',
    'audit-2022-05-03T10-20-30.123.log',
    'audit-2022-99-99T10-20-30.123.log',
    'audit-old.log',
    'other-2022-05-03T10-20-30.123.log',
  ];
  t.same(
    backupsOf(path, names).map(({ name }) => name),
    ['audit-2022-05-03T10-20-30.123.log', 'audit-2022-05-01T00-00-00.000.log.gz'],
    'the newest first',
  );
});

t.test('which of them go', async (t) => {
  const backups = [1, 2, 3].map((age) => ({ name: String(age), atMs: now - age * day }));
  const gone = (maxBackups: number, maxAge: number) =>
    expired(backups, { maxBackups, maxAge, compress: false }, now).map(({ name }) => name);
  t.same(gone(0, 0), []);
  t.same(gone(1, 0), ['2', '3']);
  t.same(gone(0, 2), ['3']);
  t.same(gone(1, 2), ['2', '3']);
});
