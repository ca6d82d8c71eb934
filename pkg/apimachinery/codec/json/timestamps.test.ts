import t from 'tap';
import { timeFault } from '#apimachinery/codec/json/timestamps.js';

const seconds = '2006-01-02T15:04:05Z07:00';
const micro = '2006-01-02T15:04:05.000000Z07:00';

t.test('errors of Go for invalid times', async (t) => {
  const rows: [text: string, layout: string, fault: string][] = [
    ['2024-05-01', seconds, `parsing time "2024-05-01" as "${seconds}": cannot parse "" as "T"`],
    ['', seconds, `parsing time "" as "${seconds}": cannot parse "" as "2006"`],
    ['x', seconds, `parsing time "x" as "${seconds}": cannot parse "x" as "2006"`],
    ['2024-5-01', seconds, `parsing time "2024-5-01" as "${seconds}": cannot parse "5-01" as "01"`],
    ['2024-13-01T00:00:00Z', seconds, 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    ['2024-02-31T00:00:00Z', seconds, 'parsing time "2024-02-31T00:00:00Z": day out of range'],
    ['2024-01-01T00:00:60Z', seconds, 'parsing time "2024-01-01T00:00:60Z": second out of range'],
    [
      '2024-01-01T00:00:00.5',
      seconds,
      `parsing time "2024-01-01T00:00:00.5" as "${seconds}": cannot parse "" as "Z07:00"`,
    ],
    ['2024-01-01T00:00:00Zx', seconds, 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'],
    [
      '2024-05-01T10:00:00+02:00',
      micro,
      `parsing time "2024-05-01T10:00:00+02:00" as "${micro}": cannot parse "+02:00" as ".000000"`,
    ],
  ];
  for (const [text, layout, fault] of rows) t.equal(timeFault(text, layout), fault);
});
