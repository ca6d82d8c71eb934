/** Parsing of queries, and truncation of responses. */
import { decode, encode, type OptAnswer, type Packet } from 'dns-packet';
import t from 'tap';
import { recordType, responseCode } from '#dns/message/numbers.js';
import { readQuery } from '#dns/message/query.js';
import { addressRecords, joined, readRecords, record } from '#dns/message/records.js';
import { udpBytes, writeResponse } from '#dns/message/response.js';

const question = { name: 'Web.Default.svc', type: 'A' } as const;
const query = (packet: Packet = {}): Buffer => encode({ type: 'query', id: 7, questions: [question], ...packet });
const option = (rest: Partial<OptAnswer> = {}): OptAnswer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize: 4096,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
  ...rest,
});
const random = () => 0;

function read(bytes: Buffer) {
  const result = readQuery(bytes);
  if (result.kind !== 'query') throw new Error(result.kind);
  return result.query;
}

t.test('queries are parsed or refused', async (t) => {
  const refusals: readonly (readonly [string, Buffer, number])[] = [
    ['another operation', query({ flags: 2 << 11 }), responseCode.NOTIMP],
    ['no question', query({ questions: [] }), responseCode.FORMERR],
    ['two questions', query({ questions: [question, question] }), responseCode.FORMERR],
    ['a name that is cut off', query().subarray(0, 20), responseCode.FORMERR],
    ['a question without its class', query().subarray(0, -2), responseCode.FORMERR],
    [
      'a pointer in place of a name',
      Buffer.concat([query().subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])]),
      responseCode.FORMERR,
    ],
    [
      'a name of more than 255 bytes',
      query({ questions: [{ ...question, name: Array(60).fill('abcd').join('.') }] }),
      responseCode.FORMERR,
    ],
    ['another class', query({ questions: [{ ...question, class: 'CH' }] }), responseCode.REFUSED],
    ['a whole zone', query({ questions: [{ ...question, type: 'AXFR' }] }), responseCode.NOTIMP],
    ['an option as type', query({ questions: [{ ...question, type: 'OPT' }] }), responseCode.FORMERR],
    ['another version of EDNS', query({ additionals: [option({ ednsVersion: 1 })] }), responseCode.BADVERS],
    ['two options', query({ additionals: [option(), option()] }), responseCode.FORMERR],
    ['an option that is cut off', query({ additionals: [option()] }).subarray(0, -3), responseCode.FORMERR],
  ];
  for (const [what, bytes, code] of refusals) {
    const result = readQuery(bytes);
    t.equal(result.kind === 'refused' ? result.code : result.kind, code, what);
    if (result.kind !== 'refused') continue;
    const answer = writeResponse(result.query, { code }, { maxBytes: 512, random });
    t.equal(answer.readUInt16BE(0), 7, `${what}: the answer is to the query`);
    t.not(readRecords(answer), undefined, `${what}: the answer is whole`);
  }
  t.equal(readQuery(encode({ type: 'response', questions: [question] })).kind, 'ignored', 'a response is not answered');
  t.equal(readQuery(query().subarray(0, 11)).kind, 'ignored');
  const { labels, type, edns } = read(query({ additionals: [option({ flags: 0x8000, flag_do: true })] }));
  t.same([labels, type, edns], [['web', 'default', 'svc'], 1, { maxBytes: 4096, dnssecOk: true }]);
  const sizes = [undefined, 1, 512, 900, 4096].map((udpPayloadSize) =>
    udpBytes(read(udpPayloadSize === undefined ? query() : query({ additionals: [option({ udpPayloadSize })] }))),
  );
  t.same(sizes, [512, 512, 512, 900, 1232]);
});

t.test('responses fit their limit', async (t) => {
  const addresses = Array.from({ length: 100 }, (_, i) => `10.0.0.${i}`);
  const records = addressRecords('question', addresses, { type: recordType.A, ttl: 5 });
  const content = { code: responseCode.NOERROR, authoritative: true, answers: records };
  const whole = decode(writeResponse(read(query()), content, { maxBytes: 65_535, random: () => 0.5 }));
  t.equal(whole.questions?.[0]?.name, question.name, 'the case of the question is kept');
  t.same(
    whole.answers?.map((answer) => (answer as { data: string }).data),
    [...addresses.slice(50), ...addresses.slice(0, 50)],
  );
  t.ok(whole.flag_aa && whole.flag_ra && !whole.flag_rd && !whole.flag_tc);
  for (const additionals of [[], [option()]]) {
    const bytes = writeResponse(read(query({ additionals, flags: 0x0100 })), content, { maxBytes: 512, random });
    const cut = decode(bytes);
    t.ok(bytes.length <= 512 && bytes.length > 480, 'as much as fits');
    t.ok(cut.flag_tc && cut.flag_rd, 'a truncated response is marked');
    t.equal(cut.additionals?.length, additionals.length);
    t.equal(new Set(cut.answers?.map((answer) => (answer as { data: string }).data)).size, cut.answers?.length);
  }
  const service = (port: number) =>
    record('question', { type: 'SRV', ttl: 5, data: { priority: 0, weight: 1, port, target: 'a.example.com' } });
  const services = joined(Array.from({ length: 30 }, (_, port) => service(port)));
  const additional = addressRecords(['a', 'example', 'com'], addresses, { type: recordType.A, ttl: 5 });
  const few = { code: 0, answers: joined([service(1), service(2)]), additional };
  const fits = decode(writeResponse(read(query()), few, { maxBytes: 512, random }));
  t.same(
    [fits.answers?.length, fits.additionals?.length, fits.flag_tc],
    [2, 0, false],
    'what is additional goes first',
  );
  const cut = decode(
    writeResponse(read(query()), { code: 0, answers: services, additional }, { maxBytes: 512, random }),
  );
  t.ok(cut.flag_tc && (cut.answers?.length ?? 0) > 5);
});
