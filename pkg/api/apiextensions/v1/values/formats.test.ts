import t from 'tap';
import { formatCheck } from '#api/apiextensions/v1/values/formats.js';

/** Valid and invalid texts of each format. */
const rows: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
  bsonobjectid: [['507f1f77bcf86cd799439011'], ['507f1f77bcf86cd79943901', '507f1f77bcf86cd79943901g', '']],
  byte: [
    ['YQ==', 'YWI=', 'YWJj', 'YWJjYWI='],
    ['', 'YQ', 'YQ=', 'YQ===', 'YW-_', 'a b='],
  ],
  cidr: [
    ['10.0.0.0/8', '10.1.2.3/32', '2001:db8::/32', '::/0', '0.0.0.0/0', '10.0.0.0/08'],
    ['10.0.0.0', '10.0.0.0/33', '2001:db8::/129', '10.0.0/8', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', ''],
  ],
  creditcard: [
    ['4111111111111111', '4111-1111-1111-1111', '5555 5555 5555 4444', '378282246310005', '6011111111111117'],
    ['4111111111111112', '1234567812345670', '', '411111111111'],
  ],
  date: [
    ['2022-05-03', '2020-02-29', '2000-02-29', '0001-01-01'],
    [
      '2022-13-01',
      '2022-02-30',
      '1900-02-29',
      '2022-2-3',
      '20220503',
      '2022-05-03T00:00:00Z',
      '',
      '2022-04-31',
      '2022-01-00',
    ],
  ],
  'date-time': [
    ['2022-05-03T10:20:30Z', '2022-05-03t10:20:30z', '2022-05-03T10:20:30.123456+02:00', '2022-05-03T23:59:59-23:59'],
    [
      '2022-05-03',
      '2022-05-03T10:20:30',
      '2022-05-03T24:00:00Z',
      '2022-05-03 10:20:30Z',
      '2022-02-30T10:20:30Z',
      'noon',
      '',
    ],
  ],
  duration: [
    ['22 ns', '1h30m', '0', '-1.5h', '3 days', '2 weeks 1 day', '5 MINUTES', '1us'],
    ['', 'soon', 'h', '5', '3 fortnights'],
  ],
  email: [
    ['a@example.com', 'a.b+c@example', 'A B <a@example.com>', '"a b"@example.com', '<a@b>', 'ü@example.com'],
    ['', 'a', 'a@', '@a', 'a..b@example.com', '.a@example.com', 'a b@example.com', 'a@b@c', 'a@b, c@d', 'A <a@b'],
  ],
  hexcolor: [
    ['#FFFFFF', '#fff', 'abc', 'A0B1C2'],
    ['#ff', '#ggg', '#fffffff', '', '##fff'],
  ],
  hostname: [
    [
      'localhost',
      'example.com',
      'a-b.example.com',
      '1.example.com',
      'a',
      'xn--bcher-kva.ch',
      'bücher.example',
      'example.x-y',
    ],
    [
      '',
      '-a',
      'a-.com',
      'a_b.com',
      'a..b',
      '.a',
      'a.',
      'a b',
      'my-long-host',
      `${'a'.repeat(64)}.com`,
      `${'a.'.repeat(127)}com`,
      'a.c',
    ],
  ],
  ipv4: [
    ['10.0.0.1', '255.255.255.255', '::ffff:10.0.0.1', '10.0.0.01'],
    ['10.0.0', '256.0.0.1', '::1', '', '10.0.0.1/8', 'a.b.c.d'],
  ],
  ipv6: [
    ['::1', '2001:db8::1', '::ffff:10.0.0.1', '::'],
    ['10.0.0.1', 'fe80::1%eth0', ':::', '', '2001:db8::1::2', '12345::'],
  ],
  isbn: [
    ['0321751043', '978-0321751041', '0-321-75104-3', '080442957X'],
    ['0321751044', '978-0321751042', '', '03217510'],
  ],
  isbn10: [
    ['0321751043', '080442957X'],
    ['978-0321751041', '0321751044', '080442957x'],
  ],
  isbn13: [
    ['978-0321751041', '9780321751041'],
    ['0321751043', '9780321751042'],
  ],
  mac: [
    [
      '00:00:5e:00:53:01',
      '00-00-5E-00-53-01',
      '0000.5e00.5301',
      '02:00:5e:10:00:00:00:01',
      Array(20).fill('00').join(':'),
    ],
    ['00:00:5e:00:53', '00:00-5e:00:53:01', '00005e005301', '', '00:00:5e:00:53:0g', '0000:5e00:5301'],
  ],
  password: [['', 'anything'], []],
  rgbcolor: [
    ['rgb(0,0,0)', 'rgb( 255 , 10 ,1 )'],
    ['rgb(256,0,0)', 'rgb(0,0)', '#fff', 'rgb(01,0,0)', 'RGB(0,0,0)', ''],
  ],
  ssn: [
    ['111-11-1111', '111 11 1111'],
    ['111111111', '111-11-111', 'aaa-aa-aaaa', ''],
  ],
  uri: [
    [
      'http://example.com',
      'https://u:p@example.com:8080/a?b#c',
      '/path',
      '*',
      'mailto:a@b',
      'http://[::1]:80/',
      'file:///x',
      'http://ex%C3%BCmple/',
    ],
    [
      '',
      'example.com',
      'a/b',
      '?q',
      'http://a b/',
      'http://a:port/',
      '/%zz',
      'http://[::1/',
      ':x',
      'a\nb:',
      'http://ex%41mple/',
    ],
  ],
  uuid: [
    ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'],
    [
      '123e4567-e89b-12d3-a456-42661417400',
      '',
      'g23e4567-e89b-12d3-a456-426614174000',
      '123e4567--e89b-12d3-a456-426614174000',
    ],
  ],
  uuid3: [['bcd02e22-68f0-3046-a512-327cca9def8f'], ['bcd02e22-68f0-4046-a512-327cca9def8f']],
  uuid4: [
    ['025b0d74-00a2-4048-bf57-227c5111bb34'],
    ['025b0d74-00a2-4048-7f57-227c5111bb34', '025b0d74-00a2-5048-bf57-227c5111bb34'],
  ],
  uuid5: [
    ['886313e1-3b8a-5372-9b90-0c9aee199e5d'],
    ['886313e1-3b8a-5372-0b90-0c9aee199e5d', '886313e1-3b8a-4372-9b90-0c9aee199e5d'],
  ],
};

for (const [format, [good, bad]] of Object.entries(rows)) {
  t.test(format, async (t) => {
    const check = formatCheck(format);
    for (const text of good) t.ok(check?.(text), `accepts ${JSON.stringify(text)}`);
    for (const text of bad) t.notOk(check?.(text), `refuses ${JSON.stringify(text)}`);
  });
}

t.test('names of formats ignore dashes, and unknown formats are not checked', async (t) => {
  for (const format of ['datetime', 'date-time', 'u-u-i-d']) t.type(formatCheck(format), 'function', format);
  const ignored = [
    '',
    'int32',
    'int64',
    'float',
    'double',
    'binary',
    'url',
    'constructor',
    '__proto__',
    'k8s-short-name',
  ];
  for (const format of ignored) t.equal(formatCheck(format), undefined, `${format} is not checked`);
});

t.test('long texts are checked in linear time', async () => {
  const long = 100_000;
  const texts = ['a', '-', 'a-', '1', '::', '0-', 'a.', ' ', '"', '%', '1d', 'a@'].map((part) => part.repeat(long));
  for (const format of Object.keys(rows)) {
    for (const text of texts) formatCheck(format)?.(text);
    for (const text of texts) formatCheck(format)?.(`x@${text}!`);
  }
});
