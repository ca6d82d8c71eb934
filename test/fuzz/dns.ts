/** Queries of broken clients and responses of broken resolvers: each is parsed, and replies are complete and fit. */
import { type Answer, encode } from 'dns-packet';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { UpstreamAnswer } from '#dns/forward/upstream-answer.js';
import { flag } from '#dns/message/numbers.js';
import { isAnswerTo, readQuery, writeQuery } from '#dns/message/query.js';
import { readRecords } from '#dns/message/records.js';
import { type Content, udpBytes, writeResponse } from '#dns/message/response.js';
import { mutate } from '#test/fuzz/mutate.js';

export interface DnsFuzzReport {
  readonly inputs: number;
  /** Refused or ignored queries, and rejected responses. */
  readonly refused: number;
}

const name = 'www.example.com';
const question = { labels: name.split('.'), type: 1, dnssecOk: true, checkingDisabled: false };
const answers: Answer[] = [
  { name, type: 'CNAME', ttl: 60, data: 'example.com' },
  { name: 'example.com', type: 'A', ttl: 60, data: '192.0.2.1' },
  { name: 'example.com', type: 'TXT', ttl: 60, data: ['text', 'more'] },
  { name: 'example.com', type: 'SRV', ttl: 60, data: { priority: 1, weight: 2, port: 3, target: 'a.example.com' } },
];

/** Runs until `goesOn` returns false; it receives the number of inputs. Throws with the failing input. */
export function fuzzDns(seed: number, goesOn: (inputs: number) => boolean): DnsFuzzReport {
  const random = seededRandom(seed);
  const query = writeQuery(7, question);
  const reply = encode({ type: 'response', id: 7, flags: 0x8180, questions: [{ name, type: 'A' }], answers });
  let refused = 0;
  let inputs = 0;
  for (; goesOn(inputs); inputs++) {
    const ofClient = inputs % 2 === 0;
    const bytes = mutate('bytes', ofClient ? query : reply, random, ofClient ? reply : query);
    if (!(ofClient ? answered(bytes, random) : relayed(bytes, query, random))) refused += 1;
  }
  return { inputs, refused };
}

function answered(bytes: Buffer, random: () => number): boolean {
  const read = readQuery(bytes);
  if (read.kind === 'ignored') return false;
  const content = { code: read.kind === 'refused' ? read.code : 0 };
  check(bytes, writeResponse(read.query, content, { maxBytes: udpBytes(read.query), random }), udpBytes(read.query));
  return read.kind === 'query';
}

/** An accepted response is passed to clients, both in full and truncated. */
function relayed(bytes: Buffer, query: Buffer, random: () => number): boolean {
  if (!isAnswerTo(bytes, query)) return false;
  const answer = UpstreamAnswer.read(bytes, 0);
  if (answer === undefined) return false;
  const { keepSeconds } = answer;
  if (!(keepSeconds >= 0 && keepSeconds <= 3600))
    throw new Error(`kept for ${keepSeconds} s: ${bytes.toString('hex')}`);
  const read = readQuery(query);
  if (read.kind !== 'query') throw new Error('the question itself is refused');
  const contents: Content[] = [answer.content(0), answer.content(30_000)];
  for (const maxBytes of [512, 65_535]) {
    for (const content of contents) {
      const written = writeResponse(read.query, content, { maxBytes, random });
      check(bytes, written, maxBytes);
    }
  }
  try {
    answer.expandedAnswers(0);
  } catch {
    // The package rejects invalid packets, and the client gets a failure.
  }
  return true;
}

function check(input: Buffer, output: Buffer, maxBytes: number): void {
  const isWhole = readRecords(output) !== undefined && (output.readUInt16BE(2) & flag.response) !== 0;
  if (output.length > maxBytes || !isWhole)
    throw new Error(`${input.toString('hex')} was answered with ${output.toString('hex')}`);
}
