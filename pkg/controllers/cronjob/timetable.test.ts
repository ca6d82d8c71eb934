import t from 'tap';
import { parseSchedule } from '#api/batch/v1/cronjob/schedule.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { timetableOf } from '#controllers/cronjob/timetable.js';

const at = (text: string) => Date.parse(text);
const next = (schedule: string, after: string, zone = 'UTC') => {
  const ms = timetableOf(parseSchedule(schedule), zone).next(at(after));
  return ms === undefined ? undefined : new Date(ms).toISOString().replace('.000Z', 'Z');
};

t.test('next returns the first instant after a time', (t) => {
  const rows: [schedule: string, after: string, expected: string | undefined][] = [
    ['* * * * *', '2022-05-03T10:00:00Z', '2022-05-03T10:01:00Z'],
    ['* * * * *', '2022-05-03T10:00:59.999Z', '2022-05-03T10:01:00Z'],
    ['*/15 * * * *', '2022-05-03T10:45:00Z', '2022-05-03T11:00:00Z'],
    ['20-35/15 * * * *', '2022-05-03T10:21:00Z', '2022-05-03T10:35:00Z'],
    ['0 0 * * *', '2022-12-31T00:00:00Z', '2023-01-01T00:00:00Z'],
    ['0 0 29 feb *', '2022-05-03T10:00:00Z', '2024-02-29T00:00:00Z'],
    ['0 0 1 jan mon', '2022-05-03T10:00:00Z', '2023-01-01T00:00:00Z'],
    ['0 0 * jan mon', '2022-05-03T10:00:00Z', '2023-01-02T00:00:00Z'],
    ['0 0 31 * *', '2022-05-31T00:00:00Z', '2022-07-31T00:00:00Z'],
    ['59 23 31 2 *', '2022-05-03T10:00:00Z', undefined],
    ['@hourly', '2022-05-03T10:00:00Z', '2022-05-03T11:00:00Z'],
    ['@weekly', '2022-05-03T10:00:00Z', '2022-05-08T00:00:00Z'],
    ['@every 90s', '2022-05-03T10:00:00.700Z', '2022-05-03T10:01:30Z'],
    ['TZ=Asia/Kolkata 30 9 * * *', '2022-05-03T00:00:00Z', '2022-05-03T04:00:00Z'],
    ['CRON_TZ=America/New_York 0 12 * * *', '2022-05-03T00:00:00Z', '2022-05-03T16:00:00Z'],
    ['TZ=Local 0 12 * * *', '2022-05-03T00:00:00Z', '2022-05-03T12:00:00Z'],
  ];
  for (const [schedule, after, expected] of rows)
    t.equal(next(schedule, after), expected, `${schedule} after ${after}`);
  t.equal(next('0 12 * * *', '2022-05-03T00:00:00Z', 'Europe/Berlin'), '2022-05-03T10:00:00Z', 'the local zone');
  t.end();
});

t.test('skipped hours do not run and repeated hours run twice', (t) => {
  const newYork = (text: string) => `TZ=America/New_York ${text}`;
  const rows: [name: string, schedule: string, after: string, expected: string][] = [
    ['a skipped hour does not run', newYork('30 2 * * *'), '2012-03-10T08:00:00Z', '2012-03-12T06:30:00Z'],
    ['the hours around a skipped hour run', newYork('0 * * * *'), '2012-03-11T06:00:00Z', '2012-03-11T07:00:00Z'],
    ['the first hour after a skipped hour', newYork('0 3 * * *'), '2012-03-11T05:00:00Z', '2012-03-11T07:00:00Z'],
    ['a repeated hour runs', newYork('0 1 * * *'), '2012-11-04T04:00:00Z', '2012-11-04T05:00:00Z'],
    ['a repeated hour runs twice', newYork('0 1 * * *'), '2012-11-04T05:00:00Z', '2012-11-04T06:00:00Z'],
    ['the next day it runs once', newYork('0 1 * * *'), '2012-11-04T06:00:00Z', '2012-11-05T06:00:00Z'],
    ['a skipped midnight', 'TZ=America/Sao_Paulo 0 0 * * *', '2018-11-03T12:00:00Z', '2018-11-05T02:00:00Z'],
    ['the day without midnight', 'TZ=America/Sao_Paulo 0 9 4 11 *', '2018-11-03T12:00:00Z', '2018-11-04T11:00:00Z'],
    ['a change of half an hour', 'TZ=Australia/Lord_Howe 15 2 * * *', '2022-10-01T00:00:00Z', '2022-10-02T15:15:00Z'],
  ];
  for (const [name, schedule, after, expected] of rows) t.equal(next(schedule, after), expected, name);
  t.end();
});

t.test('results equal a search minute by minute', (t) => {
  const random = seededRandom(42);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const zones = ['UTC', 'America/New_York', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Asia/Kathmandu'];
  const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  for (let i = 0; i < 60; i += 1) {
    const zone = pick(zones);
    const text = [
      pick(['0', '30', '*/20', '5-10']),
      pick(['*', '0', '1-3', '2', '23']),
      pick(['*', '1', '*/9']),
      '*',
      pick(['*', '0', '1-5']),
    ].join(' ');
    const schedule = parseSchedule(text);
    if (schedule.kind !== 'fields') throw new TypeError('fields were given');
    const { fields } = schedule;
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      day: 'numeric',
      weekday: 'short',
      hour: 'numeric',
      minute: 'numeric',
    });
    const matches = (ms: number) => {
      const shown = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
      const day = fields.days.has(Number(shown['day']));
      const weekday = fields.weekdays.has(weekdays.indexOf(shown['weekday'] ?? ''));
      const ofDay = fields.anyDay || fields.anyWeekday ? day && weekday : day || weekday;
      return ofDay && fields.hours.has(Number(shown['hour'])) && fields.minutes.has(Number(shown['minute']));
    };
    // Around the changes of spring and autumn on either half of the earth.
    const after = at(
      pick(['2018-11-03T00:10:00Z', '2018-03-10T20:00:00Z', '2018-10-06T10:00:00Z', '2018-02-17T12:00:00Z']),
    );
    let expected = Math.floor(after / 60_000) * 60_000 + 60_000;
    while (!matches(expected)) expected += 60_000;
    t.equal(
      timetableOf(schedule, zone).next(after),
      expected,
      `${text} in ${zone} after ${new Date(after).toISOString()}`,
    );
  }
  t.end();
});

t.test('last returns the last instant of a range', (t) => {
  const rows: [schedule: string, since: string, until: string, expected: string][] = [
    ['* * * * *', '2022-01-01T00:00:00Z', '2022-05-03T10:00:30Z', '2022-05-03T10:00:00Z'],
    ['0 0 * * *', '2022-01-01T00:00:00Z', '2022-05-03T00:00:00Z', '2022-05-03T00:00:00Z'],
    ['* 0 1 1 *', '2020-01-01T00:00:00Z', '2022-05-03T00:00:00Z', '2022-01-01T00:59:00Z'],
    ['30 6-16/4 * * 1-5', '2022-01-01T00:00:00Z', '2022-05-01T10:00:00Z', '2022-04-29T14:30:00Z'],
    ['@every 7m', '2022-05-03T00:00:00Z', '2022-05-03T01:00:00Z', '2022-05-03T00:56:00Z'],
  ];
  for (const [schedule, since, until, expected] of rows) {
    const timetable = timetableOf(parseSchedule(schedule), 'UTC');
    const first = timetable.next(at(since));
    t.equal(timetable.last({ first: first ?? 0, untilMs: at(until) }), at(expected), schedule);
  }
  t.end();
});
